// tool-poisoning.ts: signs that a tool's text tries to instruct the model without the user's knowledge. They are
// warnings for the user, found in the original text: text/sanitize.ts has already cleaned what the model sees.

import { isObject } from '../json.ts'
import { BIDI, INVISIBLE } from '../text/sanitize.ts'
import type { ToolDefinition } from './definition.ts'
import { survey } from './schema/reference.ts'

/** A sign in a description that it tries to steer a model. */
export interface InjectionSign {
  /** Where, e.g. `description` or `inputSchema.properties.path.description`. */
  readonly where: string
  readonly kind: 'invisible' | 'bidi' | 'escape' | 'markup' | 'instruction' | 'far-away'
  /** The surrounding text, made visible. */
  readonly excerpt: string
  readonly message: string
}

const SIGNS: readonly (readonly [kind: InjectionSign['kind'], pattern: RegExp, message: string])[] = [
  ['invisible', new RegExp(INVISIBLE.source, 'u'), 'holds characters that cannot be seen'],
  ['bidi', new RegExp(BIDI.source, 'u'), 'holds characters that reorder the text'],
  ['escape', /(?![\n\r\t])\p{Cc}/u, 'holds control characters or terminal escape sequences'],
  [
    'markup',
    /<\/?\s*(?:important|system|instructions?|secret|hidden|admin|assistant|user|human|tool_call|function_calls?|antml|prompt)\b[^>]{0,80}>|\[\/?(?:INST|SYSTEM)\]|<\|[a-z_]{2,20}\|>/i,
    'holds markup aimed at a model',
  ],
  [
    'instruction',
    /\b(?:ignore|disregard|forget)\b.{0,30}\b(?:previous|prior|above|all|other|system)\b.{0,30}\b(?:instruction|prompt|rule|message)s?|\bdo not (?:tell|inform|mention|reveal|show|alert)\b.{0,30}\b(?:user|human|anyone)|\bwithout (?:telling|informing|asking) the user|\bkeep (?:this|it) (?:secret|hidden) from/i,
    'tells the model to act behind the user',
  ],
  [
    'instruction',
    /\b(?:before|after|when(?:ever)?)\b.{0,40}\b(?:using|calling|invoking)\b.{0,40}\b(?:any|other|every|this) tools?\b.{0,60}\b(?:must|always|first|read|send|include)|\b(?:read|cat|open|send|include|pass)\b.{0,40}(?:~\/\.ssh|id_rsa|\.env\b|\.aws\/credentials|mcp\.json|\/etc\/passwd)/i,
    'tells the model what to do besides calling the tool',
  ],
  ['far-away', /\n{12}|[ \t]{200}/, 'hides text far below or far to the right'],
]
const TEXT_CHARS = 200_000
const MOST = 20

/** Every sign in one tool's name, title, description and schemas. */
export function injectionSigns(tool: ToolDefinition): readonly InjectionSign[] {
  const found: InjectionSign[] = []
  for (const [where, text] of textsOf(tool)) {
    for (const [kind, pattern, message] of SIGNS) {
      const match = pattern.exec(text)
      if (match && !(kind === 'invisible' && isEmojiJoint(text, match.index)))
        found.push({ where, kind, message, excerpt: excerptAt(text, match.index, match[0].length) })
      if (found.length >= MOST) return found
    }
  }
  return found
}

function* textsOf(tool: ToolDefinition): Generator<readonly [string, string]> {
  yield ['name', tool.name]
  if (tool.title !== undefined) yield ['title', tool.title]
  if (tool.annotations?.title !== undefined) yield ['annotations.title', tool.annotations.title]
  if (tool.description !== undefined) yield ['description', tool.description.slice(0, TEXT_CHARS).trimEnd()]
  for (const key of ['inputSchema', 'outputSchema'] as const)
    if (survey(tool[key]).ok) yield* schemaTexts(tool[key], key)
}

function* schemaTexts(schema: unknown, where: string): Generator<readonly [string, string]> {
  if (Array.isArray(schema))
    for (const [index, part] of schema.entries()) yield* schemaTexts(part, `${where}[${index}]`)
  else if (isObject(schema))
    for (const [key, part] of Object.entries(schema)) {
      if (typeof part === 'string') yield [`${where}.${key}`, part.slice(0, TEXT_CHARS)]
      else yield* schemaTexts(part, `${where}.${key}`)
    }
}

function isEmojiJoint(text: string, at: number): boolean {
  return (
    /[\ufe0f\u200d]/.test(text[at] ?? '') &&
    /\p{Extended_Pictographic}|\p{Emoji_Modifier}$/u.test(text.slice(Math.max(0, at - 3), at))
  )
}

function excerptAt(text: string, at: number, length: number): string {
  const cut = text.slice(Math.max(0, at - 30), at + Math.min(length, 80) + 30)
  return cut.replace(
    /[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
}

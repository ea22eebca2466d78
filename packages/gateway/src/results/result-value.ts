// result-value.ts: a tool's result as one value: JSON where there is some, else its text; a part of it by expression or by
// range; and how long it is.
import { isObject, type Json } from '../json-rpc.ts'
import { evaluateJmesPath, type JmesPath } from './jmespath.ts'
import { JmesPathError } from './jmespath-nodes.ts'

export type ResultValue =
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string }

/** Structured content counts first; else the text, which may be JSON. Images and audio are not part of the value. */
export function resultValue(result: Readonly<Json>): ResultValue {
  if (result.structuredContent !== undefined) return { kind: 'json', value: result.structuredContent }
  const text = textOf(result)
  const first = text.trimStart()[0]
  if (first === '{' || first === '[')
    try {
      return { kind: 'json', value: JSON.parse(text) }
    } catch {
      // Text that begins with a bracket.
    }
  return { kind: 'text', text }
}

export function textOf({ content }: Readonly<Json>): string {
  if (!Array.isArray(content)) return ''
  const texts = content.flatMap((block: unknown): string[] => {
    if (!isObject(block)) return []
    if (block.type === 'text' && typeof block.text === 'string') return [block.text]
    const { resource } = block
    return block.type === 'resource' && isObject(resource) && typeof resource.text === 'string'
      ? [resource.text]
      : []
  })
  return texts.join('\n')
}

/** Throws a `JmesPathError` where the expression does not fit. */
export function selectFrom(value: ResultValue, path: JmesPath): unknown {
  if (value.kind === 'text') throw new JmesPathError('the result is text, not JSON')
  return evaluateJmesPath(path, value.value)
}

export interface Range {
  readonly from: number
  readonly to: number
}

/** `from-to`, counted from 1, both included; `from-` goes on to the end. Undefined when it is nothing of the kind. */
export function parseRange(text: string): Range | undefined {
  const [, from = '', to = ''] = /^(\d{1,12})-(\d{0,12})$/.exec(text) ?? []
  const range = { from: Number(from), to: to === '' ? Number.MAX_SAFE_INTEGER : Number(to) }
  return from === '' || range.from < 1 || range.to < range.from ? undefined : range
}

/** Rows of a list, else lines: of the text, or of the JSON written over several lines. */
export function rangeOf(value: ResultValue, { from, to }: Range): ResultValue {
  if (value.kind === 'json' && Array.isArray(value.value))
    return { kind: 'json', value: value.value.slice(from - 1, to) }
  return {
    kind: 'text',
    text: linesOf(value)
      .slice(from - 1, to)
      .join('\n'),
  }
}

/** What a range counts, and how many there are. */
export function extentOf(value: ResultValue): { readonly unit: 'rows' | 'lines'; readonly count: number } {
  if (value.kind === 'json' && Array.isArray(value.value)) return { unit: 'rows', count: value.value.length }
  return { unit: 'lines', count: linesOf(value).length }
}

export function written(value: ResultValue): string {
  return value.kind === 'text' ? value.text : JSON.stringify(value.value)
}

function linesOf(value: ResultValue): readonly string[] {
  return (value.kind === 'text' ? value.text : JSON.stringify(value.value, null, 1)).split('\n')
}

/** Whether a value has more characters than that as JSON, or nearly so. Walks no further than it must. */
export function isLonger(value: unknown, chars: number): boolean {
  let left = chars
  const open: unknown[] = [value]
  for (let at = open.pop(); at !== undefined || open.length > 0; at = open.pop()) {
    if (typeof at === 'string') left -= at.length + 2
    else if (Array.isArray(at)) {
      left -= at.length + 2
      if (left >= 0) for (const item of at) open.push(item)
    } else if (isObject(at))
      for (const [key, member] of Object.entries(at)) {
        left -= key.length + 4
        if (left < 0) return true
        open.push(member)
      }
    else left -= 4
    if (left < 0) return true
  }
  return false
}

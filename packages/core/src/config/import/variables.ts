// variables.ts: how each client spells a variable inside a string, translated to our `${VAR}` and `${VAR:-default}`
// and back. A spelling without a counterpart stays as it is and is reported.
import { excerpt } from './excerpt.ts'
import type { Tell } from './types.ts'

export interface VariableStyle {
  read(text: string, tell: Tell): string
  print(text: string, tell: Tell): string
}

export interface StyleOptions {
  readonly title: string
  /** How the client spells a variable; undefined when it supports none. */
  readonly spell: ((name: string) => string) | undefined
  /** The client writes `${VAR}` and `${VAR:-default}` as we do. */
  readonly sameAsOurs?: boolean
  /** What `${…}` means besides an environment variable: our text for it, or undefined. */
  readonly special?: (inner: string, tell: Tell) => string | undefined
  /** Sources of patterns for further spellings of a variable, each with the name as its only group. */
  readonly also?: readonly string[]
  /** Source of a pattern, without groups, for what the client expands and we cannot. */
  readonly foreign?: string
}

export const NAME = '[A-Za-z_][A-Za-z0-9_]*'
// No brace inside braces: a pattern that runs to a far `}` takes quadratic time on a text full of `${`.
const OURS = `\\$\\{(${NAME})(?::-([^{}]*))?\\}`
const ENV_INNER = new RegExp(`^env:(${NAME})$`)
const OURS_WHOLE = new RegExp(`^${OURS}$`)

export const variable = (name: string) => `\${${name}}`

/** The variable, when the text consists of exactly one. */
export function soleVariable(text: string): string | undefined {
  const match = OURS_WHOLE.exec(text)
  return match && match[2] === undefined ? match[1] : undefined
}

export const hasVariable = (text: string) => new RegExp(OURS).test(text)

export function variableStyle(options: StyleOptions): VariableStyle {
  const { title, spell, also = [], foreign } = options
  // `${env:X}`, `{env:X}` and `$env:X` are understood from every client.
  const spellings = ['\\$\\{([^{}]*)\\}', `\\{env:(${NAME})\\}`, `\\$env:(${NAME})`, ...also]
  const pattern = [...spellings, ...(foreign ? [foreign] : [])].join('|')

  const braced = (match: string, inner: string, tell: Tell): string => {
    const env = ENV_INNER.exec(inner)?.[1]
    if (env !== undefined) return variable(env)
    const ours = OURS_WHOLE.test(match)
    if (ours && options.sameAsOurs) return match
    const known = options.special?.(inner, tell)
    if (known !== undefined) return known
    if (ours) tell(`${excerpt(match)} is plain text in ${title}; here it is a variable.`)
    else if (spell) tell(`${excerpt(match)} has no counterpart here and stays as it is.`)
    return match
  }

  const read = (text: string, tell: Tell): string =>
    text.replace(new RegExp(pattern, 'g'), (match: string, ...rest: (string | number | undefined)[]) => {
      const [inner, ...names] = rest.slice(0, spellings.length)
      if (typeof inner === 'string') return braced(match, inner, tell)
      const name = names.find((group) => typeof group === 'string')
      if (typeof name === 'string') return variable(name)
      tell(`${excerpt(match)} is filled in by ${title}; here it stays as it is. Use a variable instead.`)
      return match
    })

  const print = (text: string, tell: Tell): string => {
    let noted = false
    const out = options.sameAsOurs
      ? text
      : text.replace(new RegExp(OURS, 'g'), (match: string, name: string, fallback: string | undefined) => {
          if (!spell)
            tell(`${title} does not fill in variables: put the value in place of ${variable(name)}.`)
          else if (fallback !== undefined)
            tell(`${title} has no default for a variable: the one of ${name} is left out.`)
          noted ||= !spell || fallback !== undefined
          return spell ? spell(name) : match
        })
    // Text that looks like a variable to the client would come back changed.
    if (!noted && read(out, () => undefined) !== text)
      tell(`Part of this text is plain here, but ${title} takes it for a variable.`)
    return out
  }

  return { read, print }
}

/** The name of an environment variable for an identifier that may hold anything. */
export function variableName(id: string): string {
  const name = id.toUpperCase().replace(/[^A-Z0-9_]/g, '_')
  return /^[A-Z_]/.test(name) ? name : `_${name}`
}

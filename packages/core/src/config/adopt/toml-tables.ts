// toml-tables.ts: removes tables from a TOML text and leaves every other byte as it was.
import { isDeepStrictEqual } from 'node:util'
import { InvalidInput, ParseError } from '../../errors.ts'
import { isObject, parseToml } from '../import/tree.ts'

/**
 * Removes `[parent.NAME]` and its sub-tables for each name, and appends `text`. A file that writes the servers in another
 * way (inline or dotted) is refused: the result is compared with what was meant.
 */
export function replaceTables(
  source: string,
  parent: string,
  names: readonly string[],
  text: string,
  file: string,
): string {
  const kept: string[] = []
  let dropping = false
  for (const line of source.split(/(?<=\n)/)) {
    const header = headerOf(line)
    if (header) dropping = header[0] === parent && names.includes(header[1] ?? '')
    if (!dropping) kept.push(line)
  }
  const body = kept.join('')
  const gap = body === '' || body.endsWith('\n\n') ? '' : body.endsWith('\n') ? '\n' : '\n\n'
  const result = body + gap + text
  const meant = without(source, parent, names)
  if (!isDeepStrictEqual(parsedWithout(result, parent, namesIn(text, parent)), meant))
    throw new InvalidInput(`${file} writes its servers in a way that cannot be edited line by line.`, {
      hint: `Write each server as a table of its own, [${parent}.NAME]. Nothing was changed.`,
    })
  return result
}

/** The parts of a table header, `undefined` for any other line. A line of a multi-line string may look like one; the comparison finds that. */
function headerOf(line: string): readonly string[] | undefined {
  const inner = /^\s*\[\[?\s*(.*?)\s*\]\]?\s*(?:#.*)?$/.exec(line.replace(/\r?\n$/, ''))?.[1]
  if (inner === undefined) return undefined
  const parts = [...inner.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+)/g)]
  return parts.map(([, basic, literal, bare]) => basic ?? literal ?? bare ?? '')
}

function namesIn(text: string, parent: string): string[] {
  const tables = parseToml(text)[parent]
  return isObject(tables) ? Object.keys(tables) : []
}

/** `undefined` when the text is not valid any more. */
function parsedWithout(text: string, parent: string, names: readonly string[]): unknown {
  try {
    return without(text, parent, names)
  } catch (error) {
    if (error instanceof ParseError) return undefined
    throw error
  }
}

function without(text: string, parent: string, names: readonly string[]): unknown {
  const document: Record<string, unknown> = { ...parseToml(text) }
  const tables = document[parent]
  if (!isObject(tables)) return document
  const rest = Object.fromEntries(Object.entries(tables).filter(([name]) => !names.includes(name)))
  if (Object.keys(rest).length === 0) delete document[parent]
  else document[parent] = rest
  return document
}

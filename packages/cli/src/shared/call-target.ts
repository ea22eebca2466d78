// call-target.ts: which tool the words after `plugboard call` name: `server.tool`, `server tool`, `mcp__server__tool`, a
// bare name that one server has, or a URL or command line with a tool of it. A pure decision; call.ts acts on it.
import type { Board, Tool } from '@plugboard/core'
import { InvalidInput, NotFound, ServerNotFound } from '@plugboard/core/errors'
import { nearest } from '@plugboard/core/text/nearest'

export type CallTarget =
  /** A whole name, `server.tool` or `mcp__server__tool`. */
  | { readonly kind: 'named'; readonly name: string; readonly typed: readonly string[] }
  /** Only the name of a tool; which server has it is not known yet. */
  | { readonly kind: 'bare'; readonly tool: string; readonly typed: readonly string[] }
  /** A server that is in no file: its URL or its command line. */
  | {
      readonly kind: 'ad-hoc'
      readonly server: string
      readonly tool: string
      readonly typed: readonly string[]
    }

/** The words of `call`; what follows the tool is `typed`, its arguments. */
export function callTarget(words: readonly string[], servers: readonly string[]): CallTarget {
  const [first, second, ...after] = words
  if (first === undefined || isArgument(first))
    throw new InvalidInput('TOOL is missing.', { hint: 'Run `plugboard tools` to see the names.' })
  const typed = words.slice(1)
  if (first.startsWith('mcp__') || servers.some((server) => first.startsWith(`${server}.`)))
    return { kind: 'named', name: first, typed }
  const named = second === undefined || isArgument(second) ? undefined : second
  if (isAdHoc(first)) {
    if (named === undefined)
      throw new InvalidInput('TOOL is missing after the server.', {
        hint: `Run \`plugboard tools ${shellWord(first)}\` to see its tools.`,
      })
    return { kind: 'ad-hoc', server: first, tool: named, typed: after }
  }
  if (servers.includes(first))
    return named === undefined
      ? { kind: 'named', name: first, typed }
      : { kind: 'named', name: `${first}.${named}`, typed: after }
  if (first.includes('.')) return { kind: 'named', name: first, typed }
  if (named !== undefined) {
    const close = nearest(first, servers)
    throw new ServerNotFound(first, {
      hint: close
        ? `Did you mean \`plugboard call ${close} ${named}\`?`
        : `Arguments are written key=value; "${named.slice(0, 60)}" is not one.`,
    })
  }
  return { kind: 'bare', tool: first, typed }
}

/** `key=value`, `key:=json`, `--key …` or a JSON object. */
export function isArgument(word: string): boolean {
  return word.startsWith('{') || word.startsWith('--') || word.indexOf('=') > 0
}

/** No server name has these characters: a URL, a path, or a command line. */
export function isAdHoc(word: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(word) || /^(\.{0,2}\/|~\/)/.test(word) || /\S\s+\S/.test(word)
}

/** The one tool of that name; an error names all of them when there are several. */
export function onlyToolNamed(board: Board, name: string): Tool {
  const tools = board.tools()
  const fits = tools.filter(({ mcpInfo }) => mcpInfo.toolName === name)
  const [tool, ...more] = fits
  if (tool && more.length === 0) return tool
  if (tool)
    throw new InvalidInput(`${fits.length} servers have a tool named "${name}".`, {
      stage: 'call',
      hint: `Write which one: ${fits.map(spelled).join(' or ')}.`,
    })
  const close = nearest(
    name,
    tools.map(({ mcpInfo }) => mcpInfo.toolName),
  )
  const near = [
    ...tools.filter(({ mcpInfo }) => mcpInfo.toolName === close),
    ...board.searchTools(name, 3).map(({ tool }) => tool),
  ]
  const names = [...new Set(near.map(spelled))].slice(0, 3)
  throw new NotFound('tool', name, {
    stage: 'call',
    hint: names.length > 0 ? `Did you mean ${names.join(', ')}?` : 'Run `plugboard tools` to see the names.',
  })
}

function spelled({ mcpInfo }: Tool): string {
  return `${mcpInfo.serverName}.${mcpInfo.toolName}`
}

/** A word as a POSIX shell takes it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

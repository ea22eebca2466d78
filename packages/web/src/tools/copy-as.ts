// copy-as.ts: a call as others would make it: the command, TypeScript, JSON-RPC.
import type { Json, WireTool } from '../state/types.ts'

/** `key=value` where the value is plain text or a number, JSON for everything else. */
export function asCommand({ server, definition }: WireTool, args: Json): string {
  const words = Object.entries(args).map(([key, value]) => {
    const isPlain = /^[\w-]+$/.test(key)
    if (!isPlain) return undefined
    if (typeof value === 'number' || typeof value === 'boolean') return quoted(`${key}=${String(value)}`)
    // What begins with @ would be read as a file.
    if (typeof value === 'string' && !value.startsWith('@')) return quoted(`${key}=${value}`)
    return quoted(`${key}:=${JSON.stringify(value)}`)
  })
  const rest = words.includes(undefined) ? ['--args', quoted(JSON.stringify(args))] : words
  return ['plugboard call', quoted(`${server}.${definition.name}`), ...rest].join(' ')
}

export function asTypeScript({ name }: WireTool, args: Json): string {
  return [
    "import { openBoard } from '@plugboard/core'",
    '',
    'await using board = await openBoard()',
    `const result = await board.call(${JSON.stringify(name)}, ${JSON.stringify(args, null, 2)})`,
    'console.log(result.content)',
  ].join('\n')
}

export function asJsonRpc({ definition }: WireTool, args: Json): string {
  return JSON.stringify(
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: definition.name, arguments: args } },
    null,
    2,
  )
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

// trace-line.ts: `--trace`: every message of the protocol as a line on stderr: when, which way, which server, what it is, and its
// content.
import type { ProtocolMessage } from '@plugboard/core'
import type { Host } from '@plugboard/core/host'
import { isObject } from '@plugboard/core/json'
import type { Output } from './output.ts'
import { write } from './streams.ts'

const SHOWN_CHARS = 1000

/** A listener for a board. The lines are printed also with `-q`: they were asked for. */
export function tracer(
  output: Output,
  host: Host,
  print: (line: string) => void = (line) => write(2, `${line}\n`),
): (message: ProtocolMessage) => void {
  const { bold, cyan, green, red, dim } = output.errorColor
  /** The methods of requests that wait for their answer, by who asked. */
  const asked = new Map<string, string>()
  return ({ server, connection, from, message }) => {
    const { id, method, params, result, error } = isObject(message) ? message : {}
    const key = (by: string) => `${connection} ${by} ${JSON.stringify(id)}`
    const answersTo = key(from === 'client' ? 'server' : 'client')
    const name = typeof method === 'string' ? method : asked.get(answersTo)
    if (typeof method !== 'string') asked.delete(answersTo)
    else if (id !== undefined) asked.set(key(from), method)
    const what = [
      ...(id === undefined ? [] : [`#${String(id)}`]),
      ...(name === undefined ? [] : [bold(name)]),
      ...(error === undefined ? [] : [red('error')]),
    ]
    const text = JSON.stringify(error ?? result ?? params ?? (method === undefined ? message : {})) ?? ''
    const cut = !output.verbose && text.length > SHOWN_CHARS
    const shown = cut ? `${text.slice(0, SHOWN_CHARS)}…` : text
    const rest = cut ? dim(` (${text.length} characters; -v shows all)`) : ''
    const time = new Date(host.now()).toISOString().slice(11, 23)
    const arrow = from === 'client' ? cyan('→') : green('←')
    print(`${dim(time)} ${arrow} ${server} ${what.join(' ')} ${shown}${rest}`)
  }
}

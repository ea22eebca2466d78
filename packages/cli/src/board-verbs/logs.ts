// logs: what a server wrote beside the protocol, from any process that ran it.

import { followLog, type LogLine, readLog } from '@plugboard/core'
import { findResolution, stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { visible } from '@plugboard/core/text/escape-controls'
import { type Invocation, words } from '../context.ts'
import { EXIT, jsonLine } from '../output.ts'
import { flushResidentLogs } from '../resident/control.ts'
import { usesResident } from '../resident/find-or-start.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { neverBlock, readByReader, write } from '../streams.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output, host } = invocation
  const configuration = await invocation.configuration()
  findResolution(configuration, name)
  const stateDir = stateFolder(host)
  const limit = countOption(invocation)
  if (usesResident(invocation)) await flushResidentLogs(host)
  const lines = (await readLog(stateDir, name)).slice(-limit)
  const print = (line: LogLine) =>
    write(1, output.json ? jsonLine(line) : `${asText(line, output.color.dim)}\n`)
  if (!invocation.flag('follow')) {
    output.result({ server: name, lines }, () =>
      lines.map((line) => asText(line, output.color.dim)).join('\n'),
    )
    if (lines.length === 0 && !output.json) output.note(`${name} has written nothing yet.`)
    return EXIT.done
  }
  neverBlock()
  const stop = listenForInterrupt()
  for (const line of lines) print(line)
  for await (const line of followLog(stateDir, name, stop.signal)) {
    print(line)
    await readByReader(stop.signal)
  }
  stop.release()
  return EXIT.interrupted
}

function countOption(invocation: Invocation): number {
  const text = invocation.option('lines') ?? '200'
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidInput(`--lines "${text}" is not a number of lines.`)
  return Number(text)
}

/** A server's output may hold terminal codes; they are made visible in a pipe too, because users read logs. */
function asText({ at, stream, text }: LogLine, dim: (text: string) => string): string {
  return `${dim(`${new Date(at).toISOString()} ${stream.padEnd(9)}`)} ${visible(text).replaceAll('\n', '\\n')}`
}

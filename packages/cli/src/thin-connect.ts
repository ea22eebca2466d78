// thin-connect.ts: `plugboard connect` without options while a resident process runs: nothing of the command is loaded but the
// relay. Everything else is board-verbs/connect.ts.
import { systemHost } from '@plugboard/core/host'
import type { RanCommand } from '@plugboard/resident/client'
import { connectStdio } from '@plugboard/resident/connect'
import { EXIT } from './exit-codes.ts'
import { isUnread, put } from './raw-output.ts'
import { CONNECT_PARAMS, lostBoard } from './resident/connect-params.ts'
import { definedOnly, placeOf, VERSION } from './resident/process.ts'
import { mayUseResident } from './resident/use-resident.ts'
import { mayBeTerminal } from './terminal-device.ts'

/** `none`: nothing was read, and the verb has to do it. */
export async function thin(): Promise<RanCommand> {
  const host = systemHost()
  const { env, platform } = host
  if (!mayUseResident({ env, platform, forbidden: false }) || env['PLUGBOARD_CHILD'] || mayBeTerminal(1))
    return { kind: 'none' }
  const how = await connectStdio({
    place: placeOf(host),
    version: VERSION,
    params: { ...CONNECT_PARAMS, cwd: process.cwd(), env: definedOnly(env) },
    output: OUTPUT,
    onlyRunning: true,
    start: async (hooks) => await (await import('./resident/start.ts')).startResident(host, hooks),
  })
  if (how.kind === 'none') return { kind: 'none' }
  // At once, unless a reader of the output is slow.
  if (how.kind === 'ended' && !isUnread()) process.exit(EXIT.done)
  if (how.kind === 'ended') return { kind: 'exit', code: EXIT.done }
  const { message, hint } = lostBoard(how.why)
  put(2, Buffer.from(`error: ${message}\n  ${hint}\n`))
  return { kind: 'exit', code: EXIT.connect }
}

/** Stdout without Node's stream, until its reader is slow. */
const OUTPUT = {
  write: (text: string) => {
    put(1, Buffer.from(text))
    return !isUnread() || !process.stdout.writableNeedDrain
  },
  on: (event: string, listener: () => void) => (isUnread() ? process.stdout.on(event, listener) : undefined),
  once: (event: string, listener: () => void) => process.stdout.once(event, listener),
} as unknown as Pick<NodeJS.WriteStream, 'on' | 'once' | 'write'>

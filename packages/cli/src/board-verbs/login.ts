// login: logs the user in to a server, once.
import { createInterface } from 'node:readline'
import { login, loginsFor } from '@plugboard/core/auth'
import { type Configuration, findResolution, stateFolder } from '@plugboard/core/config'
import { isRemoteEntry } from '@plugboard/core/config/transport-traits'
import { Cancelled, Disabled, InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe } from '../output.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { snapshotRow } from '../shared/snapshot-rows.ts'
import { editorOutput, isTerminal } from '../streams.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  const { server, context } = await loginAt(invocation, name)
  const stop = listenForInterrupt()
  const browser = !invocation.flag('no-browser')
  const done = await login(server, context, {
    openBrowser: browser,
    onUrl: (url, opened) => {
      output.note(
        opened ? 'Plugboard started a browser. If no page opened, go to:' : 'Open this in a browser:',
      )
      output.note(`  ${safe(String(url))}`)
    },
    ...(!browser && { readPasted: (signal: AbortSignal) => readPasted(signal) }),
    signal: stop.signal,
  }).finally(stop.release)
  // Only the server can tell whether a login is good.
  const row = await withBoard(invocation, async ({ board, signal }) => {
    await board.connect(name, { signal })
    return board
      .servers()
      .map(snapshotRow)
      .find((one) => one.name === name)
  })
  output.result({ ...done, state: row?.state, tools: row?.tools }, () => {
    const kept = `Logged in to ${name}; the login is kept in ${done.vault === 'file' ? 'an encrypted file' : 'the keychain'}.`
    return row?.state === 'connected'
      ? `${kept}\n${name} is connected, with ${row.tools} ${row.tools === 1 ? 'tool' : 'tools'}.`
      : kept
  })
  return row?.state === 'connected' ? EXIT.done : EXIT.connect
}

/** A server that supports login, and where its logins are kept. */
export async function loginAt(invocation: Invocation, name: string) {
  const { host } = invocation
  const configuration = await invocation.configuration()
  const server = remoteServer(configuration, name)
  const { context } = loginsFor({ host, stateDir: stateFolder(host), settings: configuration.logins })
  return { server, context }
}

function remoteServer(configuration: Configuration, name: string) {
  const { server } = findResolution(configuration, name)
  if (!server)
    throw new InvalidInput(`"${name}" has no valid definition.`, {
      server: name,
      hint: `Run \`plugboard explain ${name}\`.`,
    })
  if (server.disabled) throw new Disabled(name, server.disabled.text)
  const { entry } = server
  if (!isRemoteEntry(entry))
    throw new InvalidInput(`"${name}" is a ${entry.type} server, which has no login.`, {
      server: name,
    })
  return { ...server, entry }
}

/** Undefined when input ends and no user types: the browser may still come back by itself. */
async function readPasted(signal: AbortSignal): Promise<string | undefined> {
  const reader = createInterface({ input: process.stdin, output: editorOutput(2) })
  try {
    return await new Promise<string | undefined>((done, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      reader.once('line', done)
      reader.once('close', () =>
        isTerminal(0) ? fail(new Cancelled('Nothing was pasted.')) : done(undefined),
      )
      reader.setPrompt('After you agreed, paste the last address that the browser shows: ')
      reader.prompt()
    })
  } finally {
    reader.close()
  }
}

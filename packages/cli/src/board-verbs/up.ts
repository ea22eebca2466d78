// up: starts the resident process, or is it, with --foreground. --install writes a unit for the user's service manager.
import { InvalidInput } from '@plugboard/core/errors'
import { startResident } from '@plugboard/resident'
import { dial } from '@plugboard/resident/client'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { installUnit } from '../resident/install.ts'
import { pageFiles } from '../resident/page-files.ts'
import { placeOf, VERSION } from '../resident/process.ts'
import { startResident as startDetached } from '../resident/start.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output } = invocation
  if (host.platform === 'win32')
    throw new InvalidInput('The resident board does not run on Windows yet.', {
      hint: 'Every command starts its own servers there.',
    })
  if (invocation.flag('install')) {
    const { file, next } = installUnit(host)
    output.result({ file, next }, () => `Wrote ${shortPath(file)}. Start it with: ${next}`)
    return EXIT.done
  }
  if (invocation.flag('foreground')) return await foreground(invocation)
  const hooks = { request: () => Promise.reject(new InvalidInput('Nothing is asked here.')) }
  const running = await dial(placeOf(host), VERSION, hooks)
  const dialed = running.kind === 'connected' ? running : await startDetached(host, hooks)
  if (dialed.kind !== 'connected')
    throw new InvalidInput(
      `The resident board did not start: ${dialed.kind === 'unusable' ? dialed.why : dialed.kind}.`,
      {
        hint: `Run \`plugboard up --foreground\` to see what happens, or look at ${placeOf(host).log}.`,
      },
    )
  const { pid, version } = dialed.hello
  await dialed.peer.end()
  const wasRunning = running.kind === 'connected'
  output.result({ running: true, pid, version, started: !wasRunning }, () =>
    wasRunning ? `Already running, process ${pid}.` : `Started, process ${pid}.`,
  )
  return EXIT.done
}

async function foreground(invocation: Invocation): Promise<number> {
  const { host, output } = invocation
  const place = placeOf(host)
  const idleMs = await idleOption(invocation)
  const files = pageFiles()
  const resident = await startResident({
    place,
    version: VERSION,
    ...(idleMs !== undefined && { idleMs }),
    ...(files !== undefined && { pageFiles: files }),
    // Loaded for the first command that wants it.
    runCommand: async (...given) => await (await import('./run-command.ts')).runCommand(...given),
  })
  if (!resident) {
    output.note('Another process is the resident board already; `plugboard status` shows it.')
    return EXIT.done
  }
  process.on('SIGHUP', () => undefined)
  const stop = listenForInterrupt()
  stop.signal.addEventListener('abort', () => resident.leave('a signal'), { once: true })
  output.note(`The resident board listens on ${shortPath(place.socket)}, process ${process.pid}.`)
  await resident.left
  stop.release()
  // Whatever a server left behind must not keep the process.
  setTimeout(() => process.exit(EXIT.done), 500).unref()
  return EXIT.done
}

async function idleOption(invocation: Invocation): Promise<number | undefined> {
  const text = invocation.option('idle-ms')
  if (text === undefined) return (await invocation.configuration()).resident.idleMs
  if (!/^\d{1,10}$/.test(text))
    throw new InvalidInput(`--idle-ms "${text}" is not a number of milliseconds.`, {
      hint: 'Give a whole number; 0 stays until `plugboard down`.',
    })
  return Number(text)
}

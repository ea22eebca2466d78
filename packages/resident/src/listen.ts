// listen.ts: one process per user listens, however many start at once. A lock orders the starts; a socket that answers
// wins, one that does not is a leftover and is removed.
import { randomBytes } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { withFileLock } from '@plugboard/core/files'
import { RESIDENT_LIMITS } from './limits.ts'
import { makeFolder, type ResidentPlace } from './socket-paths.ts'

export type Listening =
  | { readonly kind: 'listening'; readonly server: Server; readonly token: string }
  /** Another process listens already. */
  | { readonly kind: 'taken' }

export async function listen(place: ResidentPlace, onClient: (socket: Socket) => void): Promise<Listening> {
  makeFolder(place)
  const lock = { waitMs: RESIDENT_LIMITS.startMs, staleMs: RESIDENT_LIMITS.startMs, dirMode: 0o700 }
  return await withFileLock(`${place.starting}-listen`, lock, async () => {
    if (await answers(place.socket)) return { kind: 'taken' }
    if (process.platform !== 'win32') await rm(place.socket, { force: true })
    const token = randomBytes(32).toString('hex')
    await rm(place.token, { force: true })
    await writeFile(place.token, token, { mode: 0o600, flag: 'wx' })
    // A client that wrote all its requests may close its half and still wants the answers.
    const server = createServer({ allowHalfOpen: true }, onClient)
    await new Promise<void>((done, fail) => {
      server.once('error', fail)
      server.listen(place.socket, () => {
        server.off('error', fail)
        done()
      })
    })
    // The folder keeps others out already; every file of the state folder is for the user alone.
    if (process.platform !== 'win32') await chmod(place.socket, 0o600)
    return { kind: 'listening', server, token }
  })
}

/** Whether a process accepts connections there. */
export function answers(socket: string): Promise<boolean> {
  return new Promise((done) => {
    const probe = connect(socket)
    const end = (answer: boolean) => {
      probe.destroy()
      done(answer)
    }
    probe.once('connect', () => end(true))
    probe.once('error', () => end(false))
    probe.setTimeout(RESIDENT_LIMITS.helloMs, () => end(true))
  })
}

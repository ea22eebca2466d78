// dial.ts: reaches the running resident process, or says why not. Part of every command's start: sync checks of three
// files, one connection, one message.
import type { Socket } from 'node:net'
import { lazyModule } from '@plugboard/core/lazy'
import { Peer, type PeerHooks } from '../json-rpc-socket.ts'
import { RESIDENT_LIMITS } from '../limits.ts'
import { type HelloResult, PROTOCOL } from '../protocol.ts'
import { placeFault, type ResidentPlace } from '../socket-paths.ts'
import { readToken } from './read-token.ts'
import { isOlder } from './version-order.ts'

export type Dialed =
  | { readonly kind: 'connected'; readonly peer: Peer; readonly hello: HelloResult }
  /** None runs. */
  | { readonly kind: 'absent' }
  /** One runs that this command must not use: it is older, and was asked to leave. */
  | { readonly kind: 'replaced' }
  /** Something is there that cannot be trusted or understood. */
  | { readonly kind: 'unusable'; readonly why: string }

/** A process that this version of the command may use; an older one is asked to make room. */
export async function dial(place: ResidentPlace, version: string, hooks: PeerHooks): Promise<Dialed> {
  const dialed = await dialAny(place, version, hooks)
  if (dialed.kind !== 'connected') return dialed
  const { peer, hello } = dialed
  if (!isOlder(hello.version, version)) {
    if (hello.protocol === PROTOCOL) return dialed
    peer.close()
    return { kind: 'unusable', why: `the running process is of the newer version ${hello.version}` }
  }
  // Its other clients may finish.
  await inTime(peer.request('board/leave', { why: `version ${version} takes over` }), RESIDENT_LIMITS.helloMs)
  peer.close()
  return { kind: 'replaced' }
}

/** Whatever process runs, of any version. */
export async function dialAny(place: ResidentPlace, version: string, hooks: PeerHooks): Promise<Dialed> {
  const fault = placeFault(place)
  if (fault === 'missing') return { kind: 'absent' }
  if (fault !== undefined) return { kind: 'unusable', why: fault }
  const socket = await connected(place.socket)
  if (!socket) return { kind: 'absent' }
  // Read after connecting: a process writes its token before it listens.
  const token = readToken(place)
  if (token === undefined) {
    socket.destroy()
    return { kind: 'absent' }
  }
  const peer = new Peer(socket, hooks)
  const hello = await inTime(
    peer.request('board/hello', { protocol: PROTOCOL, version, token }) as Promise<HelloResult>,
    RESIDENT_LIMITS.helloMs,
  )
  // It was killed a moment ago.
  if (hello === undefined && peer.isClosed) return { kind: 'absent' }
  if (hello === undefined) {
    peer.close()
    return { kind: 'unusable', why: 'the running process did not answer' }
  }
  return { kind: 'connected', peer, hello }
}

export function connected(path: string): Promise<Socket | undefined> {
  return new Promise((done) => {
    const socket = lazyModule('node:net').connect(path)
    const failed = () => done(undefined)
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      done(socket)
    })
  })
}

/** Undefined when it took too long or failed. */
function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((done) => {
    const timer = setTimeout(() => done(undefined), ms)
    const end = (value: T | undefined) => {
      clearTimeout(timer)
      done(value)
    }
    work.then(end, () => end(undefined))
  })
}

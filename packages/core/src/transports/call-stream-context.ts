// call-stream-context.ts: records, for everything a message triggers, whether it came on the stream of a running call. Only
// Streamable HTTP can tell; this is how a legacy server's request reaches the client that made that call.
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'

const arrival = new AsyncLocalStorage<'call' | 'unasked'>()

/** A receiver for the stream of the current call: what it triggers belongs to that call's client. */
export function withinCall<T>(receive: (message: T) => void): (message: T) => void {
  return AsyncResource.bind((message: T) => arrival.run('call', receive, message))
}

/** A receiver for a stream that belongs to no call, wherever it was opened. */
export function outsideCalls<T>(receive: (message: T) => void): (message: T) => void {
  return (message) => arrival.run('unasked', receive, message)
}

export function isWithinCall(): boolean {
  return arrival.getStore() === 'call'
}

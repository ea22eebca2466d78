// call-origin.ts: remembers, for everything a message sets off, whether it came on the stream of a call that is under way. Only
// Streamable HTTP can tell; it is how a question of the older era is led to whoever made that call.
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'

const arrival = new AsyncLocalStorage<'call' | 'unasked'>()

/** A receiver for the stream of the call that is being made here: what it sets off belongs to whoever makes the call. */
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

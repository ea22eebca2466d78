// behaviours.mjs: every misbehaviour of a peer, by name; behaviours-*.mjs hold them by the moment at which they act.
// An entry maps a point (a method, `call` for the tools odd and odd-write, `start`, `request` …) to what is done
// there; returning true means that nothing else is to be done.

import { HANDSHAKE } from './behaviours-handshake.mjs'
import { WEB } from './behaviours-http.mjs'
import { MODERN } from './behaviours-modern.mjs'
import { PROCESS } from './behaviours-process.mjs'
import { RESPONSES } from './behaviours-responses.mjs'

/** A good server that keeps no log, for runs of hours. */
const soak = { discreet: true }

const BEHAVIOURS = { good: {}, soak, ...HANDSHAKE, ...RESPONSES, ...PROCESS, ...WEB, ...MODERN }

/** `modern/NAME` is the same misbehaviour of a server that speaks 2026-07-28 only. */
export function behaviourNamed(name) {
  const [, era, plain] = /^(modern\/)?(.*)$/.exec(name)
  if (!Object.hasOwn(BEHAVIOURS, plain)) throw new Error(`There is no behaviour named ${plain}.`)
  return { ...BEHAVIOURS[plain], modern: era !== undefined }
}

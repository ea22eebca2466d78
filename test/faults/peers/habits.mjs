// habits.mjs: every bad habit a peer may have, by name; habits-*.mjs hold them by the moment at which they strike.
// An entry maps a point (a method, `call` for the tools odd and odd-write, `start`, `request` …) to what is done
// there; answering true means that nothing else is to be done.
import { ANSWERS } from './habits-answers.mjs'
import { GREETINGS } from './habits-greetings.mjs'
import { MANNERS } from './habits-manners.mjs'
import { MODERN } from './habits-modern.mjs'
import { WEB } from './habits-web.mjs'

/** A good server that keeps no diary, for runs of hours. */
const soak = { discreet: true }

const HABITS = { good: {}, soak, ...GREETINGS, ...ANSWERS, ...MANNERS, ...WEB, ...MODERN }

/** `modern/NAME` is the same habit of a server that speaks 2026-07-28 and nothing older. */
export function habitNamed(name) {
  const [, era, plain] = /^(modern\/)?(.*)$/.exec(name)
  if (!Object.hasOwn(HABITS, plain)) throw new Error(`There is no habit named ${plain}.`)
  return { ...HABITS[plain], modern: era !== undefined }
}

// habits.mjs: every bad habit a peer may have, by name; habits-*.mjs hold them by the moment at which they strike.
// An entry maps a point (a method, `call` for the tools odd and odd-write, `start`, `request` …) to what is done
// there; answering true means that nothing else is to be done.
import { ANSWERS } from './habits-answers.mjs'
import { GREETINGS } from './habits-greetings.mjs'
import { MANNERS } from './habits-manners.mjs'
import { WEB } from './habits-web.mjs'

/** A good server that keeps no diary, for runs of hours. */
const soak = { discreet: true }

export const HABITS = { good: {}, soak, ...GREETINGS, ...ANSWERS, ...MANNERS, ...WEB }

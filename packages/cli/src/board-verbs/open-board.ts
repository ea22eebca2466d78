// open-board: not a verb, but the board itself as a module of its own: a command that reaches the resident process does not
// load it.
export { openBoard } from '@plugboard/core'

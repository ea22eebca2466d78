// The resident process as commands reach it. Its board (open-remote.ts) has an entry of its own: the process itself imports this
// file, and would load the code of tools with it.

export type { StatusResult } from '../protocol.ts'
export { ANSWERED_IN_PAGE } from '../questions.ts'
export { type ResidentPlace, residentPlace } from '../socket-paths.ts'
export { type Dialed, dial, dialAny } from './dial.ts'
export { type LostCall, outcomeUnknown } from './lost-call.ts'
export { type RanCommand, type RunningCommand, runCommand } from './run-command.ts'

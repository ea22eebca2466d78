// The resident process as commands reach it.

export type { StatusResult } from '../protocol.ts'
export { ANSWERED_IN_PAGE } from '../questions.ts'
export { type ResidentPlace, residentPlace } from '../socket-paths.ts'
export { type Dialed, dial, dialAny } from './dial.ts'
export { type LostCall, outcomeUnknown } from './lost-call.ts'
export { type OpenedRemote, openRemote, type Prompts } from './open-remote.ts'
export type { RemoteBoard } from './remote-board.ts'
export { type RanCommand, type RunningCommand, runCommand } from './run-command.ts'

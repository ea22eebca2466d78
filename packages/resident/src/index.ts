// @plugboard/resident: one process per user that keeps the servers of all terminals running. `client/` is what commands
// use to reach it; the page of a gateway's administration has an entry of its own, so that this process does not load a gateway.

export type { Command, CommandSite, RunCommand } from './command-session.ts'
export type { StatusResult } from './protocol.ts'
export { type Resident, type ResidentOptions, startResident } from './resident.ts'
export { type ResidentPlace, residentPlace } from './socket-paths.ts'

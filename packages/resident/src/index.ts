// @plugboard/resident: one process per user that keeps the servers of all terminals running. `client/` is what commands
// use to reach it.

export type { StatusResult } from './protocol.ts'
export { type Resident, type ResidentOptions, startResident } from './resident.ts'
export { type ResidentPlace, residentPlace } from './socket-paths.ts'
export { AdminPage, type AdminPageOptions } from './web/admin-page.ts'

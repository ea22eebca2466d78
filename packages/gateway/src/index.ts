// @plugboard/gateway: one MCP endpoint in front of every server of a board.

export { type AccessGrant, isLoopback } from './access/access.ts'
export { EVERYTHING, type Exposure, narrowed, readExposure } from './access/exposure.ts'
export { Gateway, type GatewayOptions, openGateway } from './gateway.ts'
export { type HttpHandle, type HttpOptions, serveHttp } from './http/server.ts'
export type { GatewayLimits } from './limits.ts'
export type { AskPolicy, Wiring } from './routing/server-requests.ts'
export { KeyRing, type SealKey } from './sealing/key-ring.ts'
export { gatewayKeys } from './sealing/key-store.ts'
export { SpentIds } from './sealing/spent-ids.ts'
export { type StdioHandle, type StdioOptions, serveStdio } from './stdio/server.ts'
export { openNameStore } from './views/name-store.ts'
export type { Naming } from './views/views.ts'

// @plugboard/gateway: one MCP endpoint in front of every server of a board.
export { EVERYTHING, type Exposure, narrowed, readExposure } from './exposure.ts'
export { Gateway, type GatewayOptions, openGateway } from './gateway.ts'
export { type Grant, isLoopback } from './guard.ts'
export { type HttpHandle, type HttpOptions, serveHttp } from './http.ts'
export type { Naming } from './offers.ts'
export type { AskPolicy, Wiring } from './questions.ts'
export { type StdioHandle, type StdioOptions, serveStdio } from './stdio.ts'

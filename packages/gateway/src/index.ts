// @plugboard/gateway: one MCP endpoint in front of every server of a board.

export {
  type AccessChanges,
  type AccessGrant,
  isLoopback,
  type TokenAuthority,
  type User,
} from './access/access.ts'
export { type Exposure, readExposure } from './access/exposure.ts'
export { type ConfigFault, type ConfigReading, faultText, readGatewayConfig } from './config/read-config.ts'
export type { GatewayConfig, IssuerConfig, LimitConfig } from './config/schema.ts'
export { Gateway, openGateway } from './gateway.ts'
export type { GatewayOptions } from './gateway-options.ts'
export { type Certificate, type HttpHandle, type HttpOptions, serveHttp } from './http/server.ts'
export { addNamedToken, type NamedToken } from './identity/named-tokens.ts'
export type { GatewayLimits } from './limits.ts'
export type { AccessEntry } from './operation/observe-call.ts'
export type { OwnTool, OwnToolContext } from './own-tool.ts'
export type { AskPolicy, Wiring } from './routing/server-requests.ts'
export { type StdioHandle, type StdioOptions, serveStdio } from './stdio/server.ts'
export type { SearchThreshold, ServeMode } from './views/search-mode.ts'
export type { ToolListing } from './views/status.ts'
export { type TextEmbedder, ToolVectors, type ToolVectorsOptions } from './views/tool-vectors.ts'
export type { Naming } from './views/views.ts'

export interface CompatServer {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly call?: { readonly tool: string }
}
export const SERVERS: readonly CompatServer[]

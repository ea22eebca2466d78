/** Where a server under test lives. */
export interface ServerPlace {
  readonly work: string
}
export interface CompatServer {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly args?: readonly string[] | ((place: ServerPlace) => readonly string[])
  readonly env?: Readonly<Record<string, string>> | ((place: ServerPlace) => Readonly<Record<string, string>>)
  readonly call?: { readonly tool: string }
}
export const SERVERS: readonly CompatServer[]

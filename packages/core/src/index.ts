// The public API of @plugboard/core, and nothing else.

export type { ServerEntry, TransportType } from './config/entry.ts'
export type {
  ConfiguredServer,
  Diagnostic,
  DisabledReason,
  Scope,
} from './config/types.ts'
export * from './errors.ts'
export { type Host, systemHost } from './host.ts'

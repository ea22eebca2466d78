// real-servers.ts: the real servers of real-server-entries.mjs, for tests that are skipped when the npm registry cannot be reached.
// @ts-expect-error plain JavaScript
import { realServerEntries } from './real-server-entries.mjs'
import { withRegistry } from './registry.ts'

/** Undefined when the npm registry cannot be reached, and only then. */
export function realServers(work: string): Record<string, object> | undefined {
  return withRegistry<Record<string, object>>(() => realServerEntries(work))
}

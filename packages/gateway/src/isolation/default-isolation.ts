// default-isolation.ts: who shares a server of which gateway.json says nothing. It knows the entry only: what a server keeps cannot be
// seen from outside.
import type { ConfiguredServer } from '@plugboard/core'
import { sharingOf } from '@plugboard/core/config/sharing'
import { startsCommand } from '@plugboard/core/config/transport-traits'
import type { IsolationKind } from '../config/schema.ts'

/**
 * A stdio server that keeps a browser, a shell or a conversation between calls, or whose entry says `"share": "session"`, is each
 * user's own. Not each session's: behind several replicas only a user's process is always the same one. All others are shared.
 */
export function defaultIsolation({ entry }: Pick<ConfiguredServer, 'entry'>): IsolationKind {
  if (!startsCommand(entry)) return 'shared'
  return sharingOf({ entry, author: 'user' }, '').share === 'session' ? 'user' : 'shared'
}

// notifications.ts: where a server's notifications go: to its lists, its log, and the listeners of the board.
import type { ConfiguredServer } from '../config/types.ts'
import type { Events } from '../events.ts'
import type { Catalog } from './catalog.ts'
import type { Json } from './server-info.ts'
import type { ServerLog } from './server-log.ts'

export interface NotificationTargets {
  readonly server: ConfiguredServer
  readonly catalog: Catalog
  readonly events: Events
  readonly log: ServerLog
}

export function notified(on: NotificationTargets, method: string, params: Json): void {
  const { catalog, events, log } = on
  if (catalog.notified(method)) return
  const server = on.server.name
  if (method === 'notifications/message') {
    log.add('server', logText(params))
    events.emit('notification', { server, method, params })
  } else if (method !== 'notifications/resources/updated')
    events.emit('notification', { server, method, params })
  else if (typeof params.uri === 'string') events.emit('resource-updated', { server, uri: params.uri })
}

function logText(params: Json): string {
  const { level, logger, data } = params
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  const from = typeof logger === 'string' ? `${logger}: ` : ''
  return `[${typeof level === 'string' ? level : 'info'}] ${from}${text ?? ''}`
}

// modern.mjs: the messages of 2026-07-28 that a peer of that era needs.
export const DISCOVERY = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: { listChanged: true } },
  ttlMs: 0,
  cacheScope: 'private',
}

const about = (id) => ({ 'io.modelcontextprotocol/subscriptionId': id })

/** The first message on the stream of a subscription, which then stays open. */
export const acknowledged = (id) => ({
  jsonrpc: '2.0',
  method: 'notifications/subscriptions/acknowledged',
  params: { notifications: { toolsListChanged: true }, _meta: about(id) },
})

export const toolsChanged = (id) => ({
  jsonrpc: '2.0',
  method: 'notifications/tools/list_changed',
  params: { _meta: about(id) },
})

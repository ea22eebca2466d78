// apps.ts: MCP Apps (the extension `io.modelcontextprotocol/ui`) through one endpoint: `ui://` addresses that stay valid and
// unique, who may call a tool, and which servers have apps at all.
import { type ClientCapabilities, isObject, type Json } from '../json-rpc.ts'
import { toPublic } from './resource-uris.ts'

export const UI_EXTENSION = 'io.modelcontextprotocol/ui'
/** What is declared to servers: the clients here show what the usual hosts show. */
export const UI_CAPABILITY: Json = { mimeTypes: ['text/html;profile=mcp-app'] }

/** Before `_meta.ui` there was this key; hosts and servers still use both. */
const FLAT_KEY = 'ui/resourceUri'

/** The definition with addresses that lead to its server. */
export function withPublicUi(definition: Json, server: string): Json {
  const { _meta: meta } = definition
  if (!isObject(meta)) return definition
  const rewritten = (uri: unknown) =>
    typeof uri === 'string' && uri.startsWith('ui://') ? toPublic({ server, uri }) : uri
  const { ui } = meta
  const isNested = isObject(ui) && ui.resourceUri !== undefined
  if (!isNested && meta[FLAT_KEY] === undefined) return definition
  return {
    ...definition,
    _meta: {
      ...meta,
      ...(isNested && { ui: { ...ui, resourceUri: rewritten(ui.resourceUri) } }),
      ...(meta[FLAT_KEY] !== undefined && { [FLAT_KEY]: rewritten(meta[FLAT_KEY]) }),
    },
  }
}

/** It is shown by an app, or is there for one. */
export function hasUi({ _meta: meta }: Json): boolean {
  return isObject(meta) && (isObject(meta.ui) || typeof meta[FLAT_KEY] === 'string')
}

/** Who may call it; everybody where it says nothing. */
export function isFor(who: 'model' | 'app', { _meta: meta }: Json): boolean {
  const { visibility } = isObject(meta) && isObject(meta.ui) ? meta.ui : {}
  return !Array.isArray(visibility) || visibility.includes(who)
}

/** A tool of a server without apps is not for the apps of other servers: to their host all of them are one server. */
export function forModelOnly(definition: Json): Json {
  const meta = isObject(definition._meta) ? definition._meta : {}
  const ui = isObject(meta.ui) ? meta.ui : {}
  return { ...definition, _meta: { ...meta, ui: { ...ui, visibility: ['model'] } } }
}

/** The client renders MCP Apps. */
export function showsApps({ capabilities }: { readonly capabilities?: ClientCapabilities }): boolean {
  return capabilities?.extensions?.[UI_EXTENSION] !== undefined
}

// connector-list.ts: the list of connectors as claude.ai writes it, `{"data":[{"type":"mcp_server",…}]}`, in the form of our own
// lists. Pure.
import { isObject } from '../json.ts'
import { parseJson } from './import/tree.ts'

/** The same list as `{"mcpServers": …}`; a text of any other form as it is. */
export function asServerList(text: string): string {
  const top = parsed(text)
  const data = top?.['data']
  if (!top || !Array.isArray(data) || 'mcpServers' in top || 'servers' in top) return text
  const servers: Record<string, unknown> = {}
  for (const item of data) {
    if (!isObject(item) || item['type'] !== 'mcp_server' || typeof item['url'] !== 'string') continue
    const { url, id } = item
    const shown = [item['display_name'], item['name'], id].find(
      (one) => typeof one === 'string' && one !== '',
    )
    const name = freeName(plainName(String(shown ?? 'connector')), servers)
    servers[name] = {
      type: 'http',
      url,
      ...(typeof shown === 'string' && { description: shown.slice(0, 200) }),
    }
  }
  return JSON.stringify({ mcpServers: servers })
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parseJson(text)
    return isObject(value) ? value : undefined
  } catch {
    // What is wrong with it is said by the reader of our own form.
    return undefined
  }
}

/** A name that a server may have: "Linear (EU)" → "Linear-EU". */
function plainName(shown: string): string {
  const name = shown
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/_{2,}/g, '_')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 50)
  return name === '' ? 'connector' : name
}

function freeName(name: string, taken: object): string {
  if (!Object.hasOwn(taken, name)) return name
  for (let n = 2; ; n++) if (!Object.hasOwn(taken, `${name}-${n}`)) return `${name}-${n}`
}

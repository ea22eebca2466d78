// fingerprints.ts: two fingerprints. The signature says which server an entry reaches (equal signatures are one server
// under two names); the hash says what exactly was written (an approval is bound to it).
import { lazyModule } from '../lazy.ts'
import type { ServerEntry } from './entry.ts'
import { isInProcess, startsCommand } from './transport-traits.ts'

export function startSignature(entry: ServerEntry): string {
  if (startsCommand(entry)) return digest(['stdio', entry.command, entry.args, entry.env])
  if (isInProcess(entry)) return digest(['sdk', entry])
  return digest(['url', normalUrl(entry.url ?? entry.type)])
}

/** The full hash: the author of an entry could search for two with the same short hash, one to show and one to run. */
export function hashOf(written: unknown): string {
  return sha256(written)
}

/** Different spellings of one URL give one signature. */
function normalUrl(url: string): string {
  if (!URL.canParse(url)) return url
  const parsed = new URL(url)
  parsed.hash = ''
  return parsed.search === '' ? parsed.href.replace(/\/$/, '') : parsed.href
}

function digest(value: unknown): string {
  return sha256(value).slice(0, 32)
}

function sha256(value: unknown): string {
  return lazyModule('node:crypto').createHash('sha256').update(canonical(value)).digest('hex')
}

/** JSON with sorted keys: the same data gives the same text however it was laid out. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  // 1e999 and -1e999 are numbers that JSON.stringify would write alike.
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}

// wire-exchange.ts: one HTTP exchange as a recording shows it: what was sent and answered, without any secret. It records nothing
// itself. A header is shown only when its name says that it holds no secret; of the others only the length is.
import { maskUrl, maskValue } from '../config/mask.ts'
import type { FlatHeaders } from './mcp-headers.ts'

/** What went over the wire, secrets included: only `shownExchange` may leave the process. */
export interface WireExchange {
  /** The JSON-RPC id of the request that it carried, or whose answer it asks for. */
  readonly messageId: string | number | undefined
  readonly method: string
  readonly url: string
  /** 1 for the first time that a message is sent. */
  readonly attempt: number
  readonly sent: FlatHeaders
  readonly outcome:
    | {
        readonly status: number
        readonly retryAfterMs: number | undefined
        readonly received: Readonly<Record<string, string | string[] | undefined>>
      }
    | { readonly failure: string }
  readonly durationMs: number
}

/** The same as it may be shown. */
export interface ShownExchange {
  readonly method: string
  readonly url: string
  readonly attempt: number
  readonly status?: number
  readonly retryAfterMs?: number
  readonly failure?: string
  readonly durationMs: number
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders?: Readonly<Record<string, string>>
}

export const EXCHANGE_LIMITS = { headers: 64, valueChars: 300, urlChars: 500 } as const

/** Headers that hold no secret, by what they are for. */
const PLAIN = new Set(
  `accept accept-encoding accept-language accept-ranges age allow cache-control connection content-encoding content-language
  content-length content-location content-security-policy content-type date etag expires host keep-alive last-event-id last-modified
  location mcp-method mcp-name mcp-protocol-version origin pragma referrer-policy retry-after server strict-transport-security
  traceparent transfer-encoding user-agent vary via www-authenticate x-content-type-options x-frame-options x-powered-by
  x-request-id`.split(/\s+/),
)
const PLAIN_PREFIX = /^(?:access-control-|mcp-param-|ratelimit-|x-ratelimit-)/

/** `hide` takes the known secrets of the server out of a text. */
export function shownExchange(exchange: WireExchange, hide: (text: string) => string): ShownExchange {
  const { method, url, attempt, outcome, durationMs } = exchange
  const sent = pairsOf(exchange.sent)
  const base = {
    method,
    url: hide(maskUrl(withoutSecretParts(url))).slice(0, EXCHANGE_LIMITS.urlChars),
    attempt,
    durationMs,
    requestHeaders: shownHeaders(sent, hide),
  }
  if ('failure' in outcome) return { ...base, failure: hide(outcome.failure) }
  const { status, retryAfterMs, received } = outcome
  const answered = Object.entries(received).map(
    ([name, value = '']) => [name, Array.isArray(value) ? value.join(', ') : value] as const,
  )
  return {
    ...base,
    status,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    responseHeaders: shownHeaders(answered, hide),
  }
}

function shownHeaders(
  pairs: readonly (readonly [string, string])[],
  hide: (text: string) => string,
): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const [given, value] of pairs.slice(0, EXCHANGE_LIMITS.headers)) {
    const name = given.toLowerCase()
    const isPlain = PLAIN.has(name) || PLAIN_PREFIX.test(name)
    shown[name.slice(0, EXCHANGE_LIMITS.valueChars)] = isPlain
      ? shortened(hide(maskValue(name, value)))
      : hidden(value)
  }
  return shown
}

/** Its scheme, where it has one, and its length. */
function hidden(value: string): string {
  const scheme = /^(?:Basic|Bearer|DPoP|Digest|Negotiate)(?=\s)/i.exec(value)?.[0]
  return `${scheme === undefined ? '' : `${scheme} `}••• (${value.length} characters)`
}

function shortened(text: string): string {
  return text.length > EXCHANGE_LIMITS.valueChars ? `${text.slice(0, EXCHANGE_LIMITS.valueChars)}…` : text
}

/** A query may hold a key under any name, so only its names are shown. */
function withoutSecretParts(url: string): string {
  const [address = '', query] = url.split('?', 2)
  if (query === undefined) return address
  return `${address}?${query.replace(/=[^&]*/g, '=•••')}`
}

function pairsOf(flat: FlatHeaders): [string, string][] {
  const pairs: [string, string][] = []
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] ?? '', flat[at + 1] ?? ''])
  return pairs
}

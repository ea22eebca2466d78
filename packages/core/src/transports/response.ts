// response.ts: responses in the shape that the SDK expects of a `fetch`.
import type { Dispatcher } from 'undici'
import { Timeout } from '../errors.ts'
import type { Host } from '../host.ts'
import { HTTP_LIMITS } from '../limits.ts'
import type { HttpResponse } from './http-exchange.ts'

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** A real `Response` with the whole body, for what is off the hot path: rejections, errors, pages. */
export async function fullResponse(answer: HttpResponse, host: Host): Promise<Response> {
  const cancel = host.awaitedTimer(HTTP_LIMITS.notifyMs, () =>
    answer.abort(new Timeout('The body of an error took too long.')),
  )
  // The status is enough; a body that is too long, too slow or cut only lacks its explanation.
  const text = await answer.text(HTTP_LIMITS.errorBytes).catch(() => '')
  cancel()
  const headers = new Headers()
  for (const [name, value] of answer.headerPairs())
    try {
      headers.append(name, value)
    } catch {
      // HTTP allowed it, the platform's Headers do not: such a header is dropped.
    }
  const status = answer.status > 599 ? 500 : answer.status
  return new Response(WITHOUT_BODY.has(status) ? null : text, {
    status,
    statusText: /^[\t\x20-\x7e]*$/.test(answer.statusText) ? answer.statusText : '',
    headers,
  })
}

/** The few members that the SDK reads of a response without a body. A real `Response` costs ten times as much. */
export function shortResponse(answer: HttpResponse, status: number): Response {
  const short = {
    ok: status >= 200 && status < 300,
    status,
    statusText: '',
    url: '',
    type: 'default',
    body: null,
    headers: {
      get: (name: string) => answer.header(name.toLowerCase()) ?? null,
      has: (name: string) => answer.header(name.toLowerCase()) !== undefined,
    },
    text: async () => '',
  }
  // Only passed to the SDK's transport, which reads no other member of a 202 or a 405.
  return short as unknown as Response
}

/** An ordinary fetch on our connections, proxies and certificates. */
export async function plainFetch(
  dispatcher: Dispatcher,
  url: string | URL,
  init: RequestInit & { headers: Headers },
): Promise<Response> {
  const { fetch } = await import('./undici.ts')
  const { headers, method, body, signal, redirect } = init
  const answer = await fetch(url, {
    dispatcher,
    headers: Object.fromEntries(headers.entries()),
    ...(method !== undefined && { method }),
    // undici's types of bodies and signals are copies of the platform's.
    ...(typeof body === 'string' || body instanceof URLSearchParams ? { body: body.toString() } : {}),
    ...(signal ? { signal } : {}),
    ...(redirect !== undefined && { redirect }),
  })
  // undici's Response is the platform's own class in another copy.
  return answer as unknown as Response
}

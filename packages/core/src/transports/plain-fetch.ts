// plain-fetch.ts: an ordinary `fetch` on our connections, proxies and certificates, for requests that are not MCP: what
// a login provider of the program asks for, and the first look of the doctor.
import type { Dispatcher } from 'undici'

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

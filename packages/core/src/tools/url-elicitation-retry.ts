// url-elicitation-retry.ts: a server may require the user to visit a URL before a call: the user is sent there, then
// the call is retried.
import { PermissionDenied } from '../errors.ts'
import { type ElicitationPorts, elicit } from '../interaction/index.ts'
import { isObject } from '../json.ts'
import { TOOL_LIMITS } from '../limits.ts'
import type { BoundTool } from './tool.ts'

export interface UrlElicitationPorts {
  readonly elicitation?: ElicitationPorts | undefined
  /** Resolves when the server reports the step at the URL as done. Without it the call is retried at once. */
  readonly urlDone?:
    | ((server: string, elicitationId: string, signal?: AbortSignal) => Promise<void>)
    | undefined
}

/** Retries a failed call until the server requires no URL any more, a few times at most. */
export async function afterUrlElicitation(
  ports: UrlElicitationPorts,
  tool: BoundTool,
  signal: AbortSignal | undefined,
  failure: unknown,
  request: () => Promise<unknown>,
): Promise<unknown> {
  let error = failure
  for (let round = 1; ; round++) {
    const urls = urlElicitations(error)
    if (urls.length === 0 || !ports.elicitation || round > TOOL_LIMITS.urlElicitationRounds) throw error
    for (const url of urls) await sendToUrl(ports, ports.elicitation, tool, url, signal)
    try {
      return await request()
    } catch (again) {
      error = again
    }
  }
}

interface RequiredUrl {
  readonly url: string
  readonly message: string
  readonly elicitationId?: string
}

const URL_ELICITATION_REQUIRED = -32042

/** JSON-RPC's own code says that the server requires a URL first; it may be wrapped once or twice. */
function urlElicitations(error: unknown): readonly RequiredUrl[] {
  let at: unknown = error
  for (let depth = 0; depth < 4 && typeof at === 'object' && at !== null; depth++) {
    const { code, data, cause } = at as { code?: unknown; data?: unknown; cause?: unknown }
    if (code === URL_ELICITATION_REQUIRED && isObject(data) && Array.isArray(data.elicitations))
      return data.elicitations.slice(0, 10).flatMap((item: unknown) =>
        isObject(item) && typeof item.url === 'string'
          ? [
              {
                url: item.url,
                message: typeof item.message === 'string' ? item.message : '',
                ...(typeof item.elicitationId === 'string' && { elicitationId: item.elicitationId }),
              },
            ]
          : [],
      )
    at = cause
  }
  return []
}

async function sendToUrl(
  ports: UrlElicitationPorts,
  elicitation: ElicitationPorts,
  tool: BoundTool,
  required: RequiredUrl,
  signal: AbortSignal | undefined,
): Promise<void> {
  const answer = await elicit(
    { mode: 'url', server: tool.server, ...required, retry: true },
    elicitation,
    signal,
  )
  if (answer.action !== 'accept')
    throw new PermissionDenied(
      `${tool.server}.${tool.definition.name} needs you to open ${hostOf(required.url)}, and that was not done.`,
      {
        server: tool.server,
        stage: 'call',
      },
    )
  if (required.elicitationId !== undefined && !answer.done)
    await ports.urlDone?.(tool.server, required.elicitationId, signal)
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'a URL'
}

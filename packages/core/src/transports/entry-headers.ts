// entry-headers.ts: the headers that an entry adds to its requests: fixed ones, and those that a helper command
// prints. Values are usually secrets: they go into requests and nowhere else.
import type { RemoteEntry } from '../config/entry.ts'
import { InitError } from '../errors.ts'
import { HEADERS_HELPER_LIMITS } from '../limits.ts'
import type { TransportContext } from './open.ts'
import { runCommand } from './run-command.ts'

export type HeaderMap = Readonly<Record<string, string>>

/** Headers that the protocol sets; an entry that sets them would break it. */
const RESERVED: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'keep-alive',
  'last-event-id',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
  'transfer-encoding',
  'upgrade',
])

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

type HeaderEntry = Pick<RemoteEntry, 'url' | 'headers' | 'headersHelper' | 'helperCwd'>

export class EntryHeaders {
  readonly #entry: HeaderEntry
  readonly #context: TransportContext
  readonly #fixed: HeaderMap
  #current: Promise<HeaderMap> | undefined
  #renewing: Promise<HeaderMap> | undefined

  constructor(entry: HeaderEntry, context: TransportContext) {
    this.#entry = entry
    this.#context = context
    this.#fixed = checkedHeaders(entry.headers, context.server)
  }

  get hasHelper(): boolean {
    return this.#entry.headersHelper !== undefined
  }

  /** The headers to send now; the helper runs once and its output is cached. */
  current(): HeaderMap | Promise<HeaderMap> {
    if (!this.hasHelper) return this.#fixed
    this.#current ??= this.#run().catch((error: unknown) => {
      this.#current = undefined
      throw error
    })
    return this.#current
  }

  /** The server rejected our headers: run the helper again, once for all requests that were rejected together. */
  renew(): Promise<HeaderMap> {
    this.#renewing ??= this.#run().finally(() => {
      this.#renewing = undefined
    })
    this.#current = this.#renewing
    this.#renewing.catch(() => {
      // The caller gets the error; a later request runs the helper again.
      this.#current = undefined
    })
    return this.#renewing
  }

  async #run(): Promise<HeaderMap> {
    const { host, server } = this.#context
    const command = this.#entry.headersHelper ?? ''
    const fail = (message: string, cause?: unknown) =>
      new InitError(`The headers helper of "${server}" ${message}.`, {
        server,
        stage: 'auth',
        hint: 'Run the command by hand: it must print one JSON object of header names and text values.',
        cause,
      })
    const env: Record<string, string> = { ...definedOnly(host.env) }
    for (const prefix of ['CLAUDE_CODE', 'PLUGBOARD']) {
      env[`${prefix}_MCP_SERVER_NAME`] = server
      env[`${prefix}_MCP_SERVER_URL`] = this.#entry.url
    }
    const outcome = await runCommand(host, command, {
      env,
      cwd: this.#entry.helperCwd,
      timeoutMs: HEADERS_HELPER_LIMITS.timeoutMs,
      maxBytes: HEADERS_HELPER_LIMITS.outputBytes,
    })
    if (outcome.kind === 'timeout') throw fail(`did not end within ${HEADERS_HELPER_LIMITS.timeoutMs} ms`)
    if (outcome.kind === 'too-large') throw fail('printed too much')
    if (outcome.kind === 'not-started') throw fail('could not be started', outcome.error)
    if (outcome.code !== 0) throw fail(`ended with code ${outcome.code ?? outcome.signal}`)
    let printed: unknown
    try {
      printed = JSON.parse(outcome.stdout)
    } catch {
      // The parser's message quotes the text, and the text is a secret.
      throw fail('did not print JSON')
    }
    if (typeof printed !== 'object' || printed === null || Array.isArray(printed))
      throw fail('did not print an object')
    if (!Object.values(printed).every((value) => typeof value === 'string'))
      throw fail('printed a value that is not text')
    // Every value was checked to be a string above.
    const helperHeaders = printed as Record<string, string>
    for (const value of Object.values(helperHeaders)) this.#context.learnSecret?.(value)
    return { ...this.#fixed, ...checkedHeaders(helperHeaders, server) }
  }
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined),
  )
}

/** Lower-case names, nothing reserved, nothing that could end a line early. */
function checkedHeaders(headers: Readonly<Record<string, string>>, server: string): HeaderMap {
  const checked: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (!NAME.test(name) || !VALUE.test(value))
      throw new InitError(`A header of "${server}" has a name or value that HTTP cannot carry.`, {
        server,
        stage: 'transport',
        hint: `Look at the header ${JSON.stringify(name.slice(0, 64))}.`,
      })
    if (!RESERVED.has(name.toLowerCase())) checked[name.toLowerCase()] = value
  }
  return checked
}

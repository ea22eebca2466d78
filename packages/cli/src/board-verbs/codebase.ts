// codebase: the built-in code search server on its own, for any other MCP client: over stdio, or over HTTP.
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  CodebaseError,
  type CodebaseStatus,
  createCodebaseServer,
  type EmbeddingChoice,
  embeddingsFrom,
  type HttpOptions,
} from '@plugboard/codebase'
import { unsuitableRoot } from '@plugboard/core/builtin'
import { plugboardHome } from '@plugboard/core/config'
import { InvalidInput, IoError } from '@plugboard/core/errors'
import { type Invocation, refuseHttpOnly, words } from '../context.ts'
import { EXIT, shortPath, table } from '../output.ts'
import { onPort } from '../serve/port-errors.ts'
import { readTokenFile } from '../serve/token-file.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { isTerminal } from '../streams.ts'
import { IndexBar } from '../terminal/index-bar.ts'
import { textColumns, wrapped } from '../wrap.ts'

/** Each takes memory; more do not make any usual machine faster. */
const THREADS_MAX = 64

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { output, host } = invocation
  const own = plugboardHome(host)
  const root = searchableRoot(invocation, own)
  refuseHttpOnly(invocation, ['port', 'host', 'token-file', 'no-auth', 'allow-origin', 'allow-host'])
  const http = invocation.flag('http') ? httpOptions(invocation) : undefined
  const cacheDir = join(own, 'cache', 'codebase')
  const verbs = ['status', 'reindex', 'drop', 'http'].filter((name) => invocation.flag(name))
  if (verbs.length > 1) throw new InvalidInput(`--${verbs.join(' and --')} cannot be used together.`)
  const server = createCodebaseServer({
    root,
    cacheDir,
    protectedFiles: invocation.flag('allow-ignored') ? 'allow' : 'refuse',
    protectedFolders: [own],
    ...threads(invocation),
    ...embeddings(invocation),
  })
  const stop = listenForInterrupt()
  try {
    if (invocation.flag('drop')) {
      await server.drop()
      output.result({ root, dropped: true }, () => `Dropped the index of ${root}`)
    } else if (invocation.flag('reindex') || invocation.flag('status')) {
      const status = await (invocation.flag('reindex')
        ? reindex(invocation, server, stop.signal)
        : server.status())
      tellModel(output, status.meaning.problem)
      output.result(status, () => statusText(status))
    } else {
      if (!http && isTerminal(0))
        output.note(
          wrapped(
            `Serving ${shortPath(root)} over stdio: an MCP client is expected here. Ctrl-C ends it; \`plugboard codebase --help\` shows what else it does.`,
            textColumns(2),
          ).join('\n'),
        )
      const serving = http
        ? serveHttp(invocation, server, http, stop.signal)
        : server.serveStdio().then(({ closed }) => Promise.race([closed, aborted(stop.signal)]))
      // Printed when it is known; tools that need no model are served meanwhile. Every call reports a root that is gone.
      void server.modelProblem().then(
        (problem) => tellModel(output, problem),
        () => undefined,
      )
      await serving
    }
    return EXIT.done
  } catch (error) {
    if (!stop.signal.aborted) throw told(error)
    output.note('Stopped.')
    return EXIT.interrupted
  } finally {
    await server.close()
    stop.release()
    // A terminal does not end by itself, and reading from it would keep the process.
    if (stop.signal.aborted) process.stdin.destroy()
  }
}

/** The folder of `--root`, refused when it is none or one that is never searched. */
function searchableRoot(invocation: Invocation, own: string): string {
  const root = resolve(invocation.cwd, invocation.option('root') ?? '.')
  if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
    throw new InvalidInput(`--root: ${root} is not a folder.`)
  const unfit = unsuitableRoot(root, { home: invocation.host.home, own })
  // An index that was made before can still be removed.
  if (unfit !== undefined && !invocation.flag('drop'))
    throw new InvalidInput(`--root: ${unfit}, which is never searched.`, {
      hint: 'Start it in a project folder, or name one with --root.',
    })
  return root
}

async function reindex(
  { output, host }: Invocation,
  server: ReturnType<typeof createCodebaseServer>,
  signal: AbortSignal,
): Promise<CodebaseStatus> {
  const bar = new IndexBar(output, () => host.now())
  try {
    return await server.reindex({ signal, onProgress: (step) => bar.step(step) })
  } finally {
    bar.end()
  }
}

/** The server has its own error classes; here they are printed like all errors of the command. */
function told(error: unknown): unknown {
  if (!(error instanceof CodebaseError)) return error
  return new IoError(error.message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) })
}

function tellModel(output: Invocation['output'], problem: string | undefined): void {
  if (problem !== undefined)
    output.note(`The model cannot be used: ${problem} search_by_embedding ranks by words alone.`)
}

/** The state of the index for a reader; `--json` has every number. */
function statusText({ root, text, meaning, cache }: CodebaseStatus): string {
  const progress = text.of === undefined ? '' : ` (${text.done ?? 0} of ${text.of} files)`
  const rows = [
    [
      '  text',
      `${text.state}${text.reason ? `: ${text.reason}` : ''}${progress}, ${text.files} files, ${size(text.textBytes)}`,
    ],
    [
      '  meaning',
      `${meaning.files_indexed} of ${meaning.files} files, ${meaning.chunks_with_vectors} of ${meaning.chunks} chunks with vectors${meaning.working ? ', working' : ''}`,
    ],
    ['  model', meaning.model ?? 'none'],
    ['  cache', `${shortPath(cache.folder)} (${size(cache.bytes)})`],
  ]
  return `${shortPath(root)}\n${table(rows)}`
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const kib = bytes / 1024
  return kib < 1024 ? `${kib.toFixed(1)} KiB` : `${(kib / 1024).toFixed(1)} MiB`
}

interface Http extends HttpOptions {
  /** The token that was made for this run. */
  readonly made?: string
}

/** As in `serve`, except that the user who starts it needs no token here. */
function httpOptions(invocation: Invocation): Http {
  const file = invocation.option('token-file')
  const none = invocation.flag('no-auth')
  if (none && file !== undefined)
    throw new InvalidInput('--no-auth and --token-file cannot be used together.')
  const host = invocation.option('host') ?? '127.0.0.1'
  if (none && !isLoopback(host))
    throw new InvalidInput(`--no-auth with --host ${host} would open the folder to the network.`, {
      hint: 'Leave --no-auth out: other machines then send the token that is printed at the start.',
    })
  const port = number(invocation, 'port')
  const shared = {
    host,
    ...(port !== undefined && { port }),
    allowedOrigins: invocation.options('allow-origin'),
    allowedHosts: invocation.options('allow-host'),
  }
  if (none) return { ...shared, auth: false }
  if (file !== undefined) return { ...shared, tokens: onlyTokens(resolve(invocation.cwd, file)) }
  const made = randomBytes(32).toString('base64url')
  return { ...shared, tokens: [made], made }
}

function onlyTokens(file: string): string[] {
  return readTokenFile(file).map(({ token, rest }) => {
    if (rest.length > 0)
      throw new InvalidInput(`--token-file: ${file} has a line with more than one word.`, {
        hint: 'Write one token per line. A token gives access to the whole folder; patterns after a token work only in `plugboard serve`.',
      })
    return token
  })
}

async function serveHttp(
  invocation: Invocation,
  server: ReturnType<typeof createCodebaseServer>,
  { made, ...options }: Http,
  signal: AbortSignal,
): Promise<void> {
  const { output } = invocation
  const handle = await onPort(() => server.serveHttp(options))
  // The URL for MCP clients is not the one for plain JSON-RPC.
  const mcp = `${handle.url}/mcp`
  const who = process.platform === 'linux' ? 'Other users and machines send' : 'Callers send'
  output.result({ url: handle.url, mcp, ...(made && { token: made }) }, () =>
    [
      `Serving MCP on ${mcp}, and plain JSON-RPC on ${handle.url}/`,
      ...(made ? [`${who} the header "Authorization: Bearer ${made}"`] : []),
    ].join('\n'),
  )
  await aborted(signal)
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((done) => signal.addEventListener('abort', () => done(), { once: true }))
}

function threads(invocation: Invocation): { threads?: number } {
  const count = number(invocation, 'threads')
  if (count !== undefined && (count < 1 || count > THREADS_MAX))
    throw new InvalidInput(`--threads ${count} is not between 1 and ${THREADS_MAX}.`)
  return count === undefined ? {} : { threads: count }
}

function embeddings(invocation: Invocation): { embeddings?: EmbeddingChoice } {
  const named = invocation.option('model')
  if (named === '') throw new InvalidInput('--model is empty.', { hint: 'Name a folder, or none.' })
  const keyword = named === undefined || named === 'none' || named === 'built-in'
  try {
    const choice = embeddingsFrom(invocation.host.env, {
      model: keyword ? named : resolve(invocation.cwd, named),
    })
    return choice ? { embeddings: choice } : {}
  } catch (error) {
    if (!(error instanceof CodebaseError)) throw error
    throw new InvalidInput(error.message, { ...(error.hint !== undefined && { hint: error.hint }) })
  }
}

function number(invocation: Invocation, name: string): number | undefined {
  const text = invocation.option(name)
  if (text === undefined) return undefined
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65535)
    throw new InvalidInput(`--${name} "${text}" is not a valid number.`)
  return Number(text)
}

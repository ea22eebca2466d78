// ad-hoc-server.ts: a server that the user names by its URL or its command line for one command. It becomes an entry
// like any other, so policy and rules apply; the user is asked before it is contacted or started.
import { resolve } from 'node:path'
import { startSignature } from '@plugboard/core/config'
import { InvalidInput, PermissionDenied } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import { shortPath } from '../output.ts'
import { shellWord } from '../shared/call-target.ts'
import { oneLine } from '../shared/one-line.ts'
import { isTerminal } from '../streams.ts'

type AdHocEntry =
  | { readonly type: 'http' | 'sse' | 'ws'; readonly url: string }
  | {
      readonly type: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly cwd?: string
    }

/** Puts the server on the board of this command, and returns its name there. */
export async function addAdHocServer(invocation: Invocation, target: string): Promise<string> {
  const entry = adHocEntry(target, invocation.cwd)
  const { servers } = await invocation.configuration()
  const signature = startSignature('command' in entry ? { ...entry, env: {} } : { ...entry, headers: {} })
  // A server of the files keeps its name, and with it its headers, its login and the rules about it.
  const known = servers.find((server) => !server.disabled && server.signature === signature)
  if (known) return known.name
  await requireConsent(invocation, entry)
  const taken = new Set(servers.map(({ name }) => name))
  const name = freeName(nameOf(entry), taken)
  await invocation.configuration({ servers: { [name]: entry }, again: true })
  return name
}

/** The entry that a URL or a command line stands for. */
export function adHocEntry(target: string, cwd: string): AdHocEntry {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(target)) {
    if (!/^(https?|wss?):/i.test(target) || !URL.canParse(target))
      throw new InvalidInput(`"${oneLine(target, 80)}" is not the URL of an MCP server.`, {
        hint: 'A URL starts with https://, http://, wss:// or ws://.',
      })
    if (/^ws/i.test(target)) return { type: 'ws', url: target }
    return { type: /\/sse\/?$/.test(new URL(target).pathname) ? 'sse' : 'http', url: target }
  }
  const [command, ...args] = splitCommand(target)
  if (command === undefined) throw new InvalidInput('The command of the server is empty.')
  // A path is meant from here. Other programs start where every server of the user starts.
  const hasPath = [command, ...args].some((word) => /^\.{1,2}(\/|$)/.test(word))
  return {
    type: 'stdio',
    command: /^\.{1,2}\//.test(command) ? resolve(cwd, command) : command,
    args,
    ...(hasPath && { cwd }),
  }
}

/** The words of a command line, by the quotes of a POSIX shell; nothing is expanded. */
export function splitCommand(line: string): readonly string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? ''
    if (char === quote) quote = ''
    else if (quote === '' && (char === '"' || char === "'")) {
      quote = char
      word ??= ''
    } else if (char === '\\' && quote !== "'" && at + 1 < line.length) word = (word ?? '') + line[++at]
    else if (quote === '' && /\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + char
  }
  if (quote !== '')
    throw new InvalidInput(`A closing ${quote} is missing in the command of the server.`, {
      hint: `It reads: ${oneLine(line, 200)}`,
    })
  if (word !== undefined) words.push(word)
  return words
}

async function requireConsent(invocation: Invocation, entry: AdHocEntry): Promise<void> {
  if (invocation.flag('yes')) return
  const { output } = invocation
  const shown = 'command' in entry ? [entry.command, ...entry.args].map(shellWord).join(' ') : entry.url
  const safe = oneLine(shown, 2000)
  const way = `plugboard add NAME ${'command' in entry ? `-- ${safe}` : safe}`
  if (output.json || !isTerminal(0) || !isTerminal(2))
    throw new PermissionDenied(`"${oneLine(shown, 100)}" is not one of your servers.`, {
      hint: `Add --yes to use it for this command, or keep it: ${way}`,
    })
  const { confirms } = await import('../terminal/confirm.ts')
  const question =
    'command' in entry
      ? {
          head: 'Start this program, with all your rights, for this command?',
          values: { program: shown, ...(entry.cwd !== undefined && { folder: shortPath(entry.cwd) }) },
        }
      : { head: 'Connect to this address for this command?', values: { address: shown } }
  if (!(await confirms(question, output.errorColor)))
    throw new PermissionDenied(`"${oneLine(shown, 100)}" was not started: you said no.`)
}

/** `mcp.example.com` → `mcp-example-com`; `npx -y @scope/server-x@1` → `server-x`. */
function nameOf(entry: AdHocEntry): string {
  const raw =
    'command' in entry
      ? packageName(entry.command, entry.args)
      : new URL(entry.url).host.replace(/^www\./, '')
  const name = raw
    .replace(/[^A-Za-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
  return name || 'server'
}

const RUNNERS = new Set([
  'npx',
  'bunx',
  'uvx',
  'pnpx',
  'node',
  'bun',
  'deno',
  'python',
  'python3',
  'uv',
  'docker',
])

function packageName(command: string, args: readonly string[]): string {
  const base = (word: string) => (word.split('/').at(-1) ?? word).replace(/(?!^)@[^@]*$/, '')
  const program = base(command)
  if (!RUNNERS.has(program)) return program.replace(/\.\w+$/, '')
  const word = args.find((arg) => !arg.startsWith('-') && !['run', 'exec', 'dlx', 'tool'].includes(arg))
  return word === undefined ? program : base(word).replace(/\.\w+$/, '')
}

function freeName(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted
  for (let count = 2; taken.has(name) || name === 'plugboard' || name === 'codebase'; count++)
    name = `${wanted}-${count}`
  return name
}

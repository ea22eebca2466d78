// add: one server, from the command line.
import { join, sep } from 'node:path'
import { findProgram, neutralFolder, SCOPES, type Scope, type WritableScope } from '@plugboard/core/config'
import { addServer } from '@plugboard/core/config/manage'
import { startsCommand } from '@plugboard/core/config/transport-traits'
import { InvalidInput } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import { lazyModule } from '@plugboard/core/lazy'
import { type Invocation, scopeOption } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { positionals, rest } = invocation
  const [name, ...words] = [...positionals, ...rest]
  if (name === undefined || positionals.length === 0 || isAddress(name))
    throw new InvalidInput('NAME is missing.', { hint: nameHint(positionals, rest) })
  const written = entryFrom(invocation, words)
  refuseForgottenName(invocation, name, written['command'])
  return finishAdd(invocation, name, written)
}

/** Programs that start servers; as the name of a server they are likely the command. */
const STARTERS =
  /^(?:npx|npm|pnpm|yarn|bunx?|node|deno|tsx|uvx?|pipx|python3?|docker|podman|sh|bash|java|dotnet|cargo|go|ruby|php)$/

function refuseForgottenName(invocation: Invocation, name: string, command: unknown): void {
  if (typeof command !== 'string') return
  const isOption = command.startsWith('-')
  if (!isOption && !(STARTERS.test(name) && isMissing(invocation, command))) return
  const all = [...invocation.positionals, ...invocation.rest].join(' ')
  throw new InvalidInput(
    isOption
      ? `The command of the server cannot be "${command}".`
      : `"${name}" is the name of the server here, and its command "${command}" is not on PATH.`,
    { hint: `If ${name} is the command, give the server a name: plugboard add NAME -- ${all}` },
  )
}

/** Whether no program of that name is found here; where the search works differently, none is called missing. */
function isMissing({ host, cwd }: Invocation, command: string): boolean {
  if (host.platform === 'win32' || command.includes('${')) return false
  return !lazyModule('node:fs').existsSync(findProgram(command, host.env, cwd))
}

/** No name has such characters, so this must be the URL. */
function isAddress(word: string): boolean {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(word)
}

function nameHint([first]: readonly string[], rest: readonly string[]): string {
  if (first !== undefined) return `Give the server a name: plugboard add NAME ${first}`
  if (rest.length > 0) return `Give the server a name: plugboard add NAME -- ${rest.join(' ')}`
  return 'plugboard add NAME URL, or plugboard add NAME -- COMMAND ARGS…'
}

export async function finishAdd(invocation: Invocation, name: string, written: unknown): Promise<number> {
  const { output, host } = invocation
  const scope: WritableScope = scopeOption(invocation) ?? 'local'
  const configuration = await invocation.configuration()
  const added = await addServer(configuration, host, {
    name,
    written,
    scope,
    replace: invocation.flag('force'),
  })
  output.result({ ...added, entry: written }, () => {
    const verb = added.outcome === 'replaced' ? 'Replaced' : 'Added'
    return `${verb} ${name} (${scope}) in ${shortPath(added.file)}`
  })
  const stronger = configuration.servers.find((server) => server.name === name && wins(server.scope, scope))
  if (stronger)
    output.note(
      `Note: the ${stronger.scope} definition in ${shortPath(stronger.source)} still wins for this name.`,
    )
  if (scope === 'project')
    output.note('Approved for you; everyone else who opens this project is asked first.')
  noteMissingProgram(invocation, written)
  if (scope !== 'user') await noteStartFolder(invocation, name, added.file)
  return EXIT.done
}

function noteMissingProgram(invocation: Invocation, written: unknown): void {
  const command = isObject(written) ? written['command'] : undefined
  // A path is looked up from the folder that the server starts in, which is not known yet.
  if (typeof command !== 'string' || command.includes('/') || !isMissing(invocation, command)) return
  invocation.output.note(
    `Note: "${command}" was not found on PATH here. Install it, or give its full path; \`plugboard doctor\` checks it.`,
  )
}

async function noteStartFolder(invocation: Invocation, name: string, file: string): Promise<void> {
  const { servers, place } = await invocation.configuration({ again: true })
  const server = servers.find((each) => each.name === name && each.source === file)
  const cwd = server && startsCommand(server.entry) ? server.entry.cwd : undefined
  if (cwd?.startsWith(join(neutralFolder(place), sep)))
    invocation.output.note(
      `${name} starts in a neutral folder: programs such as npx take code from the folder they start in. If you trust this one, run \`plugboard trust\`.`,
    )
}

function wins(a: Scope, b: Scope): boolean {
  return SCOPES.indexOf(a) < SCOPES.indexOf(b)
}

function entryFrom(invocation: Invocation, words: readonly string[]): Record<string, unknown> {
  const [target, ...args] = words
  if (target === undefined)
    throw new InvalidInput('The URL or the command of the server is missing.', {
      hint: 'Give a URL, or -- and the command that starts the server.',
    })
  const transport = invocation.option('transport') ?? guessTransport(target, invocation.rest.length > 0)
  const env = pairs(invocation.options('env'), '=', '-e', 'KEY=value')
  const headers = pairs(invocation.options('header'), ':', '-H', 'Name: value')
  if (transport === 'stdio') {
    if (Object.keys(headers).length > 0)
      throw new InvalidInput('-H is for servers with a URL.', { hint: 'Use -e for environment variables.' })
    return { type: 'stdio', command: target, args, ...(Object.keys(env).length > 0 && { env }) }
  }
  if (args.length > 0)
    throw new InvalidInput(`"${args[0]}" after the URL is not expected.`, {
      hint: 'For a command, put -- before it.',
    })
  if (Object.keys(env).length > 0)
    throw new InvalidInput('-e is for servers that are started by a command.', {
      hint: 'Use -H for HTTP headers.',
    })
  const oauth = oauthFrom(invocation)
  const helper = invocation.option('headers-helper')
  return {
    type: transport,
    url: target,
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(helper && { headersHelper: helper }),
    ...(oauth && { oauth }),
  }
}

function guessTransport(target: string, afterDashes: boolean): string {
  if (afterDashes) return 'stdio'
  if (/^wss?:\/\//i.test(target)) return 'ws'
  if (/^(?!https?:)[a-z][a-z\d+.-]*:\/\//i.test(target))
    throw new InvalidInput(`"${target}" is not the URL of an MCP server.`, {
      hint: 'A URL starts with https://, http://, wss:// or ws://. For a command, put -- before it.',
    })
  if (/^(?:[\w-]+(?:\.[\w-]+)+|localhost)(?::\d+)?\/|^[\w.-]+:\d+$/i.test(target))
    throw new InvalidInput(`"${target}" looks like a URL without https://.`, {
      hint: `Write ${/^(localhost|127\.)/i.test(target) ? 'http' : 'https'}://${target}, or put -- before it if it is a command.`,
    })
  if (!/^https?:\/\//i.test(target)) return 'stdio'
  return /\/sse\/?$/.test(URL.canParse(target) ? new URL(target).pathname : target) ? 'sse' : 'http'
}

function pairs(
  words: readonly string[],
  separator: string,
  flag: string,
  shape: string,
): Record<string, string> {
  const entries = words.map((word): [string, string] => {
    const at = word.indexOf(separator)
    const key = word.slice(0, at).trim()
    if (at < 1 || key === '') throw new InvalidInput(`${flag} "${word}" is not ${shape}.`)
    return [key, separator === ':' ? word.slice(at + 1).trim() : word.slice(at + 1)]
  })
  return Object.fromEntries(entries)
}

function oauthFrom(invocation: Invocation): Record<string, unknown> | undefined {
  const clientId = invocation.option('client-id')
  const port = invocation.option('callback-port')
  if (clientId === undefined && port === undefined) return undefined
  if (port !== undefined && !/^\d+$/.test(port))
    throw new InvalidInput(`--callback-port "${port}" is not a number.`)
  return { ...(clientId && { clientId }), ...(port && { callbackPort: Number(port) }) }
}

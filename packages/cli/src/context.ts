// context.ts: makes what a verb gets from the command line: its arguments, the environment, and the configuration when it
// asks for it.
import { resolve } from 'node:path'
import type { Configuration, Diagnostic, WritableScope } from '@plugboard/core/config'
import { isSwitchName, unknownBuiltinHint } from '@plugboard/core/config/builtin-switches'
import { type LoadOptions, loadConfiguration } from '@plugboard/core/config/load'
import { InvalidInput } from '@plugboard/core/errors'
import { systemHost } from '@plugboard/core/host'
import { lazyModule } from '@plugboard/core/lazy'
import { createOutput, type Output, reportDiagnostics } from './output.ts'
import { tracer } from './trace-line.ts'
import type { Invocation, LoadBoardVerb, Parsed, VerbHost, VerbSpec } from './verb-spec.ts'

export type { Invocation } from './verb-spec.ts'

export function createInvocation(
  parsed: Parsed,
  verbs: readonly VerbSpec[],
  loadBoardVerb: LoadBoardVerb,
  runsIn?: VerbHost,
): Invocation {
  const { flag, option, options } = readersOf(parsed)
  const output = outputFor(flag, runsIn)
  const host = runsIn?.host ?? systemHost()
  const cwd = startFolder(runsIn?.cwd ?? process.cwd(), option('cwd'))
  let loaded: Promise<Configuration> | undefined
  let asked: Pick<LoadOptions, 'withLines' | 'refuse' | 'servers'> = {}
  const reported = new Set<string>()
  const reportFaults = (faults: readonly Diagnostic[]) => {
    const fresh = faults.filter((one) => {
      const key = JSON.stringify([one.file, one.line, one.path, one.message])
      return concerns(parsed, output, one) && !reported.has(key) && reported.add(key)
    })
    reportDiagnostics(output, fresh)
  }
  const load = async (more: Pick<LoadOptions, 'withLines' | 'refuse' | 'servers'>) => {
    const configuration = await (runsIn?.load ?? loadConfiguration)({
      host,
      cwd,
      mcpConfig: options('mcp-config'),
      strict: flag('strict-mcp-config'),
      approveProject: flag('approve-project'),
      ...builtinChoices(parsed, options('builtin')),
      ...more,
    })
    reportFaults(configuration.diagnostics)
    return configuration
  }
  return {
    verbs,
    loadBoardVerb,
    host,
    cwd,
    output,
    usage: `plugboard ${parsed.verb?.name ?? 'VERB'} ${parsed.verb?.usage ?? ''}`.trimEnd(),
    positionals: parsed.positionals,
    rest: parsed.rest,
    flag,
    option,
    options,
    configuration: ({ again = false, ...more } = {}) => {
      // What an earlier read was told stays true of a later one.
      asked = { ...asked, ...more }
      if (again || !loaded) loaded = load(asked)
      return loaded
    },
    givenServers: () => asked.servers,
    ...(flag('trace') && { onMessage: tracer(output, host) }),
    ...(runsIn && { runsIn }),
    reportFaults,
  }
}

function outputFor(flag: Invocation['flag'], runsIn: VerbHost | undefined): Output {
  return createOutput(
    {
      json: flag('json'),
      quiet: flag('quiet'),
      verbose: flag('verbose'),
      noColor: flag('no-color'),
    },
    runsIn?.write,
  )
}

/** `--builtin`, and what the verb itself switches on. */
function builtinChoices({ verb }: Parsed, names: readonly string[]): Pick<LoadOptions, 'builtins' | 'use'> {
  return {
    ...(names.length > 0 && { builtins: switchedOn(names) }),
    ...(verb?.name === 'chat' && { use: 'chat' }),
  }
}

/** The built-in servers of `--builtin`, by name. */
export function switchedOn(names: readonly string[]): Readonly<Record<string, boolean>> {
  for (const name of names)
    if (!isSwitchName(name))
      throw new InvalidInput(`--builtin: there is no built-in server "${name}".`, {
        hint: unknownBuiltinHint(name),
      })
  return Object.fromEntries(names.map((name) => [name, true]))
}

/** Options by name, each in the form that its verb expects. */
function readersOf({ values }: Parsed): Pick<Invocation, 'flag' | 'option' | 'options'> {
  return {
    flag: (name) => values[name] === true,
    option: (name) => {
      const value = values[name]
      return typeof value === 'string' ? value : undefined
    },
    options: (name) => {
      const value = values[name]
      return Array.isArray(value) ? (value as readonly string[]) : []
    },
  }
}

/**
 * A command about one server does not report faults of the others, nor one about another client warnings. Faults of a
 * file as a whole are always reported: something in it may be without effect.
 */
function concerns({ verb, positionals }: Parsed, output: Output, fault: Diagnostic): boolean {
  const { severity, server, topic } = fault
  // A rule for a server that does not exist is worth a warning only where servers are listed.
  if (topic === 'rules' && severity === 'warning')
    return verb?.name === 'list' || verb?.name === 'doctor' || output.verbose
  const [, subject] = /^\[?(NAME|SERVER|TOOL|CLIENT)/.exec(verb?.usage ?? '') ?? []
  const [word] = positionals
  if (subject === undefined || word === undefined || output.verbose) return true
  if (subject === 'CLIENT') return severity === 'error'
  if (server === undefined) return true
  return word === server || word.startsWith(`${server}.`) || word.startsWith(`mcp__${server}__`)
}

function startFolder(from: string, wanted: string | undefined): string {
  const cwd = resolve(from, wanted ?? '')
  if (wanted !== undefined && !isFolder(cwd)) throw new InvalidInput(`--cwd: ${cwd} is not a folder.`)
  return cwd
}

function isFolder(path: string): boolean {
  return lazyModule('node:fs').statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Exactly so many words, or an error about what is missing or too much. */
export function words(invocation: Invocation, names: readonly string[], optional = 0): readonly string[] {
  const { positionals, usage } = invocation
  if (positionals.length < names.length - optional)
    throw new InvalidInput(`${names[positionals.length]} is missing.`, {
      hint: `Usage: ${usage}`,
    })
  if (positionals.length > names.length)
    throw new InvalidInput(`"${positionals[names.length]}" is not expected here.`, {
      hint: `Usage: ${usage}`,
    })
  return positionals
}

export function scopeOption(invocation: Invocation): WritableScope | undefined {
  // The parser has checked the choices.
  return invocation.option('scope') as WritableScope | undefined
}

/** Over stdio these would have no effect, and the user expects one. */
export function refuseHttpOnly(invocation: Invocation, names: readonly string[]): void {
  if (invocation.flag('http')) return
  const given = names.find(
    (name) =>
      invocation.flag(name) || invocation.option(name) !== undefined || invocation.options(name).length > 0,
  )
  if (given !== undefined)
    throw new InvalidInput(`--${given} is for HTTP.`, { hint: 'Add --http, or leave it out.' })
}

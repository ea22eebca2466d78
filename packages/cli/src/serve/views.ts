// views.ts: what the clients of `serve` see: names, modes, profiles, how single tools are shown and what becomes of large
// results, from the options and the settings.
import { join } from 'node:path'
import type { Configuration } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { nearest } from '@plugboard/core/text/nearest'
import {
  type Exposure,
  type Gateway,
  type GatewayOptions,
  type Naming,
  type ServeMode,
  ToolVectors,
} from '@plugboard/gateway'
import { narrowed, ResultStore } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { exposureOf } from './token-grants.ts'

type ViewOptions = Pick<
  GatewayOptions,
  'names' | 'mode' | 'searchAbove' | 'always' | 'tools' | 'select' | 'large' | 'results' | 'vectors'
>

export async function viewOptions(
  invocation: Invocation,
  configuration: Configuration,
  stateDir: string,
): Promise<ViewOptions> {
  const modes = modeOptions(invocation)
  return {
    // The parser has checked the choices.
    names: (invocation.option('names') ?? 'mcp') as Naming,
    ...modes,
    ...(modes.mode !== 'all' && { vectors: await openVectors(invocation, stateDir) }),
    tools: configuration.tools,
    select: configuration.gateway.select ?? false,
    large: (invocation.option('large') ?? 'whole') as 'whole' | 'reference',
    results: new ResultStore({ folder: join(stateDir, 'gateway-results'), now: () => invocation.host.now() }),
  }
}

/** Search goes by meaning too, with the model of the codebase package, where both are installed and not switched off. */
async function openVectors({ host, output }: Invocation, stateDir: string): Promise<ToolVectors | undefined> {
  try {
    const { embeddingsFrom, openTextEmbedder } = await import('@plugboard/codebase')
    // Descriptions of tools stay on this machine, whichever model code is searched with.
    const embedder = embeddingsFrom(host.env)?.kind === 'none' ? undefined : await openTextEmbedder()
    if (!embedder) return undefined
    return new ToolVectors({
      embedder,
      file: join(stateDir, 'tool-vectors.json'),
      failed: (error) =>
        output.note(
          `Tools are found by words alone: ${error instanceof Error ? error.message : String(error)}`,
        ),
    })
  } catch {
    // The package is not installed, or its settings are for another purpose: words alone.
    return undefined
  }
}

/** What is served at all: `--expose`, within `--profile`. */
export async function servedExposure(invocation: Invocation): Promise<Exposure> {
  const exposed = exposureOf(invocation.options('expose'), '--expose')
  const name = invocation.option('profile')
  if (name === undefined) return exposed
  const { profiles } = await invocation.configuration()
  const patterns = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (!patterns) {
    const names = Object.keys(profiles)
    const meant = nearest(name, names)
    throw new InvalidInput(`There is no profile "${name}" in the settings.`, {
      hint: meant
        ? `Did you mean "${meant}"?`
        : names.length > 0
          ? `There are ${names.join(', ')}.`
          : 'Write it in ~/.plugboard/settings.json: "profiles": {"review": ["github.get_*"]}.',
    })
  }
  if (patterns.length === 0)
    throw new InvalidInput(`The profile "${name}" is empty, so nothing would be served.`, {
      hint: 'Write patterns like "github.get_*" in it.',
    })
  return narrowed(exposed, exposureOf(patterns, `The profile "${name}"`))
}

function modeOptions(invocation: Invocation): Pick<GatewayOptions, 'mode' | 'searchAbove' | 'always'> {
  const mode = (invocation.option('mode') ?? 'all') as ServeMode
  const above = invocation.option('search-above')
  const always = invocation.options('always')
  if (above !== undefined && mode !== 'auto')
    throw new InvalidInput('--search-above belongs to `--mode auto`.', { hint: 'Add `--mode auto`.' })
  if (always.length > 0 && mode === 'all')
    throw new InvalidInput('--always belongs to `--mode search` or `--mode auto`.', {
      hint: 'Without a mode every tool is listed.',
    })
  if (above !== undefined && !/^\d{1,9}$/.test(above))
    throw new InvalidInput(`--search-above "${above}" is not a number of tokens.`, {
      hint: 'Give a whole number, as in `--search-above 10000`.',
    })
  return {
    mode,
    ...(above !== undefined && { searchAbove: { tokens: Number(above) } }),
    ...(always.length > 0 && { always: exposureOf(always, '--always') }),
  }
}

/** Says once on stderr how tools are listed, when the servers have had their chance to come up. */
export async function tellListing({ output }: Invocation, gateway: Gateway): Promise<void> {
  await gateway.wake()
  const { mode, tools, tokens, listedTools, listedTokens } = gateway.listing({ exposure: gateway.expose })
  const count = (of: number, what: string) => `${of.toLocaleString('en-US')} ${what}${of === 1 ? '' : 's'}`
  output.note(
    mode === 'search'
      ? `Mode search: ${count(listedTools, 'tool')} listed in place of ${tools.toLocaleString('en-US')}, about ${count(listedTokens, 'token')} in place of ${tokens.toLocaleString('en-US')}.`
      : `Mode all: ${count(tools, 'tool')} listed, about ${count(tokens, 'token')}.`,
  )
  for (const pattern of gateway.unusedOverrides())
    output.note(`"tools" in the settings: ${pattern} fits no tool of a server that is up.`)
}

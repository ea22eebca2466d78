// builtin-switches.ts: the names of the built-in servers and whether each is on. Pure: the settings, the command line and
// the table decide. core/builtin/ knows how they are made; a repository's files have no say here.
import { nearest } from '../text/nearest.ts'
import type { ConfigDocument, Definition } from './document.ts'
import { EDITOR_NAME } from './editor-locks.ts'
import { BUILTIN_NAMES, type BuiltinName } from './names.ts'
import type { Source } from './sources.ts'
import type { Diagnostic } from './types.ts'

/** Where a board is used, as far as a default depends on it. */
export type BoardUse = 'chat'

/** `chat`: on in `plugboard chat`, off elsewhere. */
type BuiltinDefault = 'on' | 'off' | BoardUse

/** What `builtins` switches: our built-ins, and the server of a running editor. */
const SWITCH_NAMES = [...BUILTIN_NAMES, EDITOR_NAME] as const

export const BUILTIN_DEFAULTS: Readonly<Record<(typeof SWITCH_NAMES)[number], BuiltinDefault>> = {
  [EDITOR_NAME]: 'on',
  codebase: 'on',
  workspace: 'chat',
  browser: 'off',
  computer: 'off',
}

export interface BuiltinChoices {
  /** By name, from the command line or the program: stronger than the user's settings, weaker than an administrator's. */
  readonly builtins?: Readonly<Record<string, boolean>> | undefined
  /** Names of the built-ins that the program brings. */
  readonly ownBuiltins?: readonly string[] | undefined
  readonly use?: BoardUse | undefined
}

export interface BuiltinSwitch {
  readonly name: string
  readonly isOn: boolean
  /** One sentence that says what decided. */
  readonly why: string
}

/** What decides, strongest first: an administrator's settings, the command line, the user's settings, the default. */
export function builtinSwitches(
  documents: readonly ConfigDocument[],
  choices: BuiltinChoices,
): readonly BuiltinSwitch[] {
  const own = (choices.ownBuiltins ?? []).filter((name) => !isBuiltinName(name))
  return [...BUILTIN_NAMES, ...own].map((name) => builtinSwitch(name, documents, choices))
}

export function builtinSwitch(
  name: string,
  documents: readonly ConfigDocument[],
  choices: BuiltinChoices,
): BuiltinSwitch {
  const written = (scope: 'enterprise' | 'user') => writtenIn(documents, scope, name)
  const given = choices.builtins?.[name]
  const { isOn, why } =
    written('enterprise') ??
    (given === undefined ? undefined : { isOn: given, why: givenBy(given) }) ??
    written('user') ??
    byDefault(name, choices.use)
  return { name, isOn, why }
}

function givenBy(isOn: boolean): string {
  return `It is switched ${isOn ? 'on' : 'off'} for this run (--builtin, or the program's \`builtins\`).`
}

function writtenIn(documents: readonly ConfigDocument[], scope: 'enterprise' | 'user', name: string) {
  for (const { source, settings } of documents) {
    const said = settings.builtins
    if (source.scope !== scope || !said || !Object.hasOwn(said, name)) continue
    const isOn = said[name] === true
    return { isOn, why: `It is switched ${isOn ? 'on' : 'off'} by "builtins" in ${source.file}.` }
  }
  return undefined
}

function byDefault(name: string, use: BoardUse | undefined) {
  if (!isSwitchName(name)) return { isOn: true, why: 'The program brings it.' }
  const standard = BUILTIN_DEFAULTS[name]
  if (standard === 'on') return { isOn: true, why: 'It is on by default.' }
  const how = `\`plugboard enable ${name}\` switches it on, \`--builtin ${name}\` for one command.`
  if (standard === 'off') return { isOn: false, why: `It is off by default. ${how}` }
  return standard === use
    ? { isOn: true, why: `It is on by default in ${use}.` }
    : { isOn: false, why: `It is on by default in ${standard} only. ${how}` }
}

/** May `builtins` and `--builtin` name it? */
export function isSwitchName(name: string): name is (typeof SWITCH_NAMES)[number] {
  return SWITCH_NAMES.some((one) => one === name)
}

export function isBuiltinName(name: string): name is BuiltinName {
  return BUILTIN_NAMES.some((one) => one === name)
}

/** The source of our built-ins; the program's have one of their own. */
export const BUILTIN_SOURCE = 'built-in'
export const OWN_BUILTIN_SOURCE = 'built-in of the program'

/** The built-ins are servers like the others, so they can be listed, explained, disabled and denied. */
export function builtinDocuments(
  documents: readonly ConfigDocument[],
  choices: BuiltinChoices,
  sourceOf: (file: string) => Source,
): readonly ConfigDocument[] {
  const own = new Set(choices.ownBuiltins)
  const [ours, theirs] = [sourceOf(BUILTIN_SOURCE), sourceOf(OWN_BUILTIN_SOURCE)]
  const definitions = builtinSwitches(documents, choices).map((one) =>
    definitionOf(one, own.has(one.name) ? theirs : ours),
  )
  return [
    {
      source: ours,
      definitions: definitions.filter(({ source }) => source === ours),
      settings: {},
      diagnostics: documents.flatMap((document) => unknownNames(document, own)),
    },
    ...(own.size === 0
      ? []
      : [
          {
            source: theirs,
            definitions: definitions.filter(({ source }) => source === theirs),
            settings: {},
            diagnostics: [],
          },
        ]),
  ]
}

function definitionOf({ name, isOn, why }: BuiltinSwitch, source: Source): Definition {
  const entry = { type: 'sdk' } as const
  return {
    name,
    source,
    path: name,
    written: entry,
    faults: [],
    ...(isOn ? { entry, note: why } : { absentBecause: why }),
  }
}

function unknownNames({ source, settings }: ConfigDocument, own: ReadonlySet<string>): Diagnostic[] {
  return Object.keys(settings.builtins ?? {})
    .filter((name) => !isSwitchName(name) && !own.has(name))
    .map((name) => ({
      severity: 'warning',
      file: source.file,
      path: `builtins.${name}`,
      message: 'there is no built-in server of that name here',
      hint: unknownBuiltinHint(name),
    }))
}

export function unknownBuiltinHint(name: string): string {
  const close = nearest(name, SWITCH_NAMES)
  return close === undefined ? `There are: ${SWITCH_NAMES.join(', ')}.` : `Did you mean "${close}"?`
}

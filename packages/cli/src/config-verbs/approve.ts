// approve: shows what of a project waits for approval (servers, hooks, allow rules), and records the yes for exactly that.
import {
  type Configuration,
  findResolution,
  type PendingApproval,
  type PendingSettings,
  pendingApprovals,
  projectEntry,
} from '@plugboard/core/config'
import { approvalsFile, approve, filesOf, setEnabled } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { exactLine, nameText } from '@plugboard/core/text/escape-controls'
import { type QuestionParts, questionText } from '@plugboard/core/text/question-text'
import type { Invocation } from '../context.ts'
import { EXIT, safe, shortPath } from '../output.ts'
import { isTerminal } from '../streams.ts'
import type { Choice } from '../terminal/permission-prompt.ts'

interface Asked {
  readonly entries: readonly PendingApproval[]
  readonly settings: readonly PendingSettings[]
}

export async function run(invocation: Invocation): Promise<number> {
  const { output, host } = invocation
  const configuration = await invocation.configuration()
  const asked = whatIsAsked(invocation, configuration)
  const waits = asked.entries.length + asked.settings.length > 0
  // Without a terminal no question can be shown: the command itself is the yes, and its output shows to what.
  const interactive = waits && !invocation.flag('yes') && !output.json && isTerminal(0)
  // There is a user at stdin, but the question would not be seen.
  if (interactive && !isTerminal(2))
    throw new InvalidInput('`plugboard approve` cannot ask you here: stderr is not a terminal.', {
      hint: 'Use --yes to approve without a question.',
    })
  const agreed = interactive ? await askEach(invocation, asked) : asked
  const files = invocation.flag('pin') ? await pinsOf(configuration, agreed.entries) : undefined
  await approve(configuration, host, { ...agreed, mine: invocation.flag('mine'), ...(files && { files }) })
  output.result(asData(agreed, files), () => asText(asked, agreed, files))
  return EXIT.done
}

/** With names: those, also when they are approved already and --pin or --mine adds to it. Without: all that waits. */
function whatIsAsked({ positionals, flag }: Invocation, configuration: Configuration): Asked {
  const pending = pendingApprovals(configuration)
  const settings = configuration.pendingSettings
  if (flag('settings')) return { entries: [], settings }
  if (positionals.length === 0) return { entries: pending, settings }
  const adds = flag('pin') || flag('mine')
  const named = positionals.flatMap((name) => {
    const resolution = findResolution(configuration, name)
    return adds ? projectEntry(resolution) : pending.filter((entry) => entry.name === name)
  })
  return { entries: named, settings: [] }
}

async function pinsOf(
  { place, resolutions }: Configuration,
  entries: readonly PendingApproval[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const pins = new Map<string, Readonly<Record<string, string>>>()
  for (const { name } of entries) {
    const entry = resolutions.get(name)?.server?.entry
    const files = entry ? await filesOf(entry, place.root) : {}
    if (Object.keys(files).length === 0)
      throw new InvalidInput(`"${name}" names no file inside the project that could be pinned.`, {
        server: name,
        hint: `Nothing was approved. Run \`plugboard approve ${name}\` without --pin.`,
      })
    pins.set(name, files)
  }
  return pins
}

/**
 * Offers to approve one server that waits for it, where the user can be asked. Resolves with the configuration after a
 * yes, and with undefined otherwise.
 */
export async function offerApproval(
  invocation: Invocation,
  name: string,
): Promise<Configuration | undefined> {
  const { output, host } = invocation
  if (output.json || output.quiet || !isTerminal(0) || !isTerminal(2)) return undefined
  const configuration = await invocation.configuration()
  const entries = pendingApprovals(configuration).filter((entry) => entry.name === name)
  if (entries.length === 0) return undefined
  output.note(`${safe(name)} came with this project and waits for your approval.`)
  const agreed = await askEach(invocation, { entries, settings: [] })
  if (agreed.entries.length === 0) return undefined
  await approve(configuration, host, { ...agreed, mine: false })
  return await invocation.configuration({ again: true })
}

/** One thing that waits, as the user is asked about it. */
interface Question {
  readonly title: string
  readonly parts: QuestionParts
  readonly entry?: PendingApproval
  readonly setting?: PendingSettings
}

type Answer = 'yes' | 'no' | 'all' | 'off'

/** One after the other; leaving is a no to the rest. `off` switches a server off, so that nothing asks about it again. */
async function askEach(invocation: Invocation, asked: Asked): Promise<Asked> {
  const { layoutOf, terminalAsker, confirms } = await import('../terminal/confirm.ts')
  const { askWhole } = await import('../terminal/permission-prompt.ts')
  const asker = terminalAsker(invocation.output.errorColor)
  const records = shortPath(approvalsFile((await invocation.configuration()).place))
  const questions = questionsOf(asked, records)
  const agreed: Question[] = []
  for (const [at, question] of questions.entries()) {
    const rest = questions.slice(at)
    const text = questionText(question.parts, layoutOf(asker))
    const answer = await askWhole<Answer | undefined>(asker, text, choices(question, rest.length), undefined)
    if (answer === undefined) break
    if (answer === 'off' && question.entry) await switchOff(invocation, question.entry)
    if (answer === 'yes') agreed.push(question)
    if (answer !== 'all') continue
    if (await confirms(together(rest, records), asker.color)) agreed.push(...rest)
    break
  }
  return {
    entries: agreed.flatMap(({ entry }) => entry ?? []),
    settings: agreed.flatMap(({ setting }) => setting ?? []),
  }
}

function choices({ entry }: Question, left: number): readonly Choice<Answer>[] {
  return [
    { means: 'yes', key: 'y', label: '(y)es', agrees: true },
    { means: 'no', key: 'n', label: '(n)ot now', agrees: false, enter: true },
    // The question about all of them shows each again.
    ...(left > 1
      ? [{ means: 'all', key: 'a', label: `(a)ll ${left} in one question`, agrees: false } as const]
      : []),
    ...(entry ? [{ means: 'off', key: 's', label: '(s)witch it off', agrees: false } as const] : []),
  ]
}

function questionsOf({ entries, settings }: Asked, records: string): readonly Question[] {
  return [
    ...entries.map((entry) => ({
      title: entry.name,
      parts: {
        head: `Let ${nameText(entry.name)} start?`,
        notes: [
          `It is in ${shortPath(entry.file)}: ${entry.because}.`,
          ...notes(entry),
          recordedIn(records),
        ].map(exactLine),
        values: entry.written,
      },
      entry,
    })),
    ...settings.map((setting) => ({
      title: `${titleOf(setting)} in ${shortPath(setting.file)}`,
      parts: {
        head: `Approve ${titleOf(setting)}?`,
        notes: [`They are in ${shortPath(setting.file)}.`, recordedIn(records)].map(exactLine),
        values: setting.written,
      },
      setting,
    })),
  ]
}

const recordedIn = (records: string) => `A yes is for exactly this, and is recorded in ${records}.`

/** Several in one question; each as it is written. */
function together(questions: readonly Question[], records: string): QuestionParts {
  const extra = questions.flatMap(({ title, entry }) =>
    (entry ? notes(entry) : []).map((note) => `${title}: ${note}`),
  )
  return {
    head: `Approve these ${questions.length}?`,
    notes: [...extra, recordedIn(records)].map(exactLine),
    values: Object.fromEntries(questions.map(({ title, parts }) => [title, parts.values])),
  }
}

async function switchOff(invocation: Invocation, { name }: PendingApproval): Promise<void> {
  await setEnabled(await invocation.configuration(), invocation.host, name, false)
  invocation.output.note(
    `Switched ${safe(name)} off; \`plugboard enable ${safe(name)}\` switches it on again.`,
  )
}

function asData({ entries, settings }: Asked, files: Pins) {
  return {
    approved: entries.map(({ name, file, hash, replaces }) => ({
      name,
      source: file,
      hash,
      ...(replaces !== undefined && { replaces }),
      ...(files?.has(name) && { pinned: files.get(name) }),
    })),
    ...(settings.length > 0 && {
      settings: settings.map(({ kind, file, written }) => ({ kind, source: file, written })),
    }),
  }
}

type Pins = ReadonlyMap<string, Readonly<Record<string, string>>> | undefined

function asText(asked: Asked, { entries, settings }: Asked, files: Pins): string {
  if (entries.length + settings.length === 0)
    return asked.entries.length + asked.settings.length === 0
      ? 'Nothing waits for approval here.'
      : 'Nothing was approved.'
  const pinned = (name: string) => Object.keys(files?.get(name) ?? {}).map((file) => `  pinned ${safe(file)}`)
  return [
    ...entries.map((entry) =>
      [
        `Approved ${entry.name} from ${shortPath(entry.file)}`,
        show(entry.written),
        ...notes(entry).map((note) => `  ${note}`),
        ...pinned(entry.name),
      ].join('\n'),
    ),
    ...settings.map(
      (setting) => `Approved ${titleOf(setting)} of ${shortPath(setting.file)}\n${show(setting.written)}`,
    ),
  ].join('\n')
}

function titleOf({ kind }: PendingSettings): string {
  return kind === 'hooks'
    ? 'hooks (commands around calls)'
    : 'permissions.allow (tools that run without a question)'
}

/** Variables that name the project's folder. */
const OURS = /^(?:PLUGBOARD|CLAUDE)_PROJECT_DIR$/

/** What a yes includes that the text of the entry does not say. */
function notes({ replaces, written }: PendingApproval): string[] {
  const { command, inheritEnv } = (written ?? {}) as { command?: unknown; inheritEnv?: unknown }
  const named = JSON.stringify(written).matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)
  const variables = [...new Set([...named].map(([, name = '']) => name))].filter((name) => !OURS.test(name))
  return [
    ...(replaces !== undefined
      ? [`This replaces your own server of that name (${shortPath(replaces)}).`]
      : []),
    ...(inheritEnv === true ? ['It gets your whole environment, secrets included.'] : []),
    ...(variables.length > 0 ? [`It gets these variables of yours: ${variables.join(', ')}.`] : []),
    ...(typeof command === 'string'
      ? ['It starts in the project folder and runs the code it finds there.']
      : []),
  ]
}

/**
 * What a yes would mean, exactly as it is written: its author could hide a command inside what looks like a
 * secret, so nothing is masked here, and control characters are made visible.
 */
function show(written: unknown): string {
  return safe(JSON.stringify(written, null, 2)).replace(/^/gm, '  ')
}

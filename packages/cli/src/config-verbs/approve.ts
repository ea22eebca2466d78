// approve: shows what of a project waits for approval (servers, hooks, allow rules), and records the yes for exactly that.
import {
  type Configuration,
  findResolution,
  type PendingApproval,
  type PendingSettings,
  pendingApprovals,
  projectEntry,
} from '@plugboard/core/config'
import { approve, filesOf, setEnabled } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import { EXIT, safe, shortPath } from '../output.ts'
import { textColumns, wrapped } from '../shared/wrap.ts'
import { isTerminal, write } from '../streams.ts'

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
  readonly about: string
  readonly body: string
  readonly prompt: string
  readonly entry?: PendingApproval
  readonly setting?: PendingSettings
}

/** One after the other; leaving is a no to the rest. `never` switches a server off, so that nothing asks about it again. */
async function askEach(invocation: Invocation, asked: Asked): Promise<Asked> {
  const { PromptAborted } = await import('../terminal/keys.ts')
  const questions = questionsOf(invocation, asked)
  const agreed: Question[] = []
  try {
    for (const [at, question] of questions.entries()) {
      showQuestion(invocation, question)
      const answer = await answerTo(question, questions.length - at)
      if (answer === 'never' && question.entry) await switchOff(invocation, question.entry)
      if (answer === 'yes') agreed.push(question)
      if (answer !== 'all') continue
      const rest = questions.slice(at + 1)
      for (const each of rest) showQuestion(invocation, each)
      if (await saysYes(`Approve these ${rest.length + 1}?`)) agreed.push(question, ...rest)
      break
    }
  } catch (error) {
    if (!(error instanceof PromptAborted)) throw error
  }
  return {
    entries: agreed.flatMap(({ entry }) => entry ?? []),
    settings: agreed.flatMap(({ setting }) => setting ?? []),
  }
}

function questionsOf({ output }: Invocation, { entries, settings }: Asked): readonly Question[] {
  const { yellow } = output.errorColor
  return [
    ...entries.map((entry) => ({
      title: entry.name,
      about: `${shortPath(entry.file)}, ${entry.because}`,
      body: [show(entry.written), ...notes(entry).map((note) => `  ${yellow(note)}`)].join('\n'),
      prompt: 'Let it start?',
      entry,
    })),
    ...settings.map((setting) => ({
      title: titleOf(setting),
      about: shortPath(setting.file),
      body: show(setting.written),
      prompt: 'Approve it?',
      setting,
    })),
  ]
}

function showQuestion({ output }: Invocation, { title, about, body }: Question): void {
  const { bold, dim } = output.errorColor
  write(2, `\n${wrapped(`${bold(title)} ${dim(about)}`, textColumns(2)).join('\n')}\n${body}\n`)
}

type Answer = 'yes' | 'no' | 'never' | 'all'

/** Asks until the answer is one of the letters; a question mark explains them, and an empty line is a no. */
async function answerTo({ prompt, entry }: Question, left: number): Promise<Answer> {
  const { askLine } = await import('../terminal/keys.ts')
  const choices: readonly (readonly [letter: string, answer: Answer, meaning: string])[] = [
    ['y', 'yes', 'yes, exactly as it is written above'],
    ['n', 'no', 'not now; it keeps waiting'],
    ...(left > 1 ? [['a', 'all', `show all ${left}, then one question for all of them`] as const] : []),
    ...(entry
      ? [['v', 'never', 'never: switch it off for you (`plugboard enable` undoes it)'] as const]
      : []),
  ]
  const letters = choices.map(([letter]) => (letter === 'n' ? 'N' : letter)).join('/')
  for (;;) {
    const word = (await askLine({ prompt: `${prompt} [${letters}/?] ` })).trim().toLowerCase()
    if (word === '') return 'no'
    const chosen = choices.find(([letter, answer]) => word === letter || word === answer)
    if (chosen) return chosen[1]
    write(2, `${choices.map(([letter, , meaning]) => `  ${letter}  ${meaning}`).join('\n')}\n`)
  }
}

async function saysYes(question: string): Promise<boolean> {
  const { askLine } = await import('../terminal/keys.ts')
  return /^y(es)?$/i.test((await askLine({ prompt: `${question} [y/N] ` })).trim())
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

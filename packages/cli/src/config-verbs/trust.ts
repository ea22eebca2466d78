// trust: whether the user's own servers and hooks may start in a project's folder. It does not cover what the project
// brings: that is approved entry by entry.
import { isAbsolute, resolve } from 'node:path'
import { loadConfiguration } from '@plugboard/core/config/load'
import { forgetFolder, listFolders, trustFolder } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { textColumns, wrapped } from '../shared/wrap.ts'
import { isTerminal } from '../streams.ts'

export { trustFolder } from '@plugboard/core/config/manage'

export async function run(invocation: Invocation): Promise<number> {
  const [given] = words(invocation, ['DIR'], 1)
  const { output, host } = invocation
  if (invocation.flag('list')) return list(invocation)
  if (invocation.flag('remove')) return remove(invocation, given)
  const cwd = given === undefined ? invocation.cwd : resolve(invocation.cwd, given)
  if (!lazyModule('node:fs').statSync(cwd, { throwIfNoEntry: false })?.isDirectory())
    throw new InvalidInput(`${cwd} is not a folder.`)
  const configuration = await loadConfiguration({ host, cwd })
  const { root } = configuration.place
  const agreed = await confirmed(invocation, root)
  if (agreed) await trustFolder(configuration, host, true)
  output.result({ folder: root, trusted: agreed }, () =>
    agreed
      ? `Your servers and hooks now start in ${shortPath(root)}. Servers of the project itself still wait for \`plugboard approve\`.`
      : `${shortPath(root)} is not trusted; your servers start in a neutral folder.`,
  )
  return EXIT.done
}

/** What a yes means; also asked by verbs that start servers. */
export function meaning(root: string): string {
  return wrapped(
    `Your own servers and hooks start in a neutral folder, because ${shortPath(root)} is not trusted. In a trusted folder they start in it. Programs such as npx, uvx and python take code and settings from the folder they start in, so say yes only if you trust everything in it.`,
    textColumns(2),
  ).join('\n')
}

async function confirmed(invocation: Invocation, root: string): Promise<boolean> {
  // Where no question can be shown, typing the command is the yes.
  if (invocation.flag('yes') || invocation.output.json || !isTerminal(0) || !isTerminal(2)) return true
  invocation.output.note(meaning(root))
  return asksYes('Trust this folder?')
}

export async function asksYes(question: string): Promise<boolean> {
  const { askLine, PromptAborted, questionFd, tell } = await import('../terminal/keys.ts')
  // The terminal would break it inside of a word.
  const lines = wrapped(`${question} [y/N]`, textColumns(questionFd()) - 6)
  try {
    for (const line of lines.slice(0, -1)) tell(`${line}\n`)
    return /^y(es)?$/i.test((await askLine({ prompt: `${lines.at(-1)} ` })).trim())
  } catch (error) {
    if (error instanceof PromptAborted) return false
    throw error
  }
}

async function list({ output, host, cwd }: Invocation): Promise<number> {
  const { place } = await loadConfiguration({ host, cwd })
  const folders = await listFolders(place)
  output.result({ folders }, () =>
    folders.length === 0
      ? 'No folder is trusted.'
      : folders
          .map(
            ({ folder, trusted, at }) =>
              `${trusted ? '✔' : '✘'} ${shortPath(folder)}  ${trusted ? 'trusted' : 'refused'} on ${at.slice(0, 10)}`,
          )
          .join('\n'),
  )
  return EXIT.done
}

async function remove(invocation: Invocation, given: string | undefined): Promise<number> {
  const { output, host, cwd } = invocation
  const { place } = await loadConfiguration({ host, cwd })
  const folder = given === undefined ? place.root : isAbsolute(given) ? given : resolve(cwd, given)
  const removed = await forgetFolder(place, folder)
  output.result({ folder, removed }, () =>
    removed
      ? `Forgot the answer about ${shortPath(folder)}.`
      : `No answer is stored for ${shortPath(folder)}; \`plugboard trust --list\` shows the stored answers.`,
  )
  return removed ? EXIT.done : EXIT.notFound
}

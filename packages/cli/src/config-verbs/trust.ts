// trust: whether the user's own servers and hooks may start in a project's folder. It does not cover what the project
// brings: that is approved entry by entry.
import { isAbsolute, resolve } from 'node:path'
import type { Configuration } from '@plugboard/core/config'
import { loadConfiguration } from '@plugboard/core/config/load'
import { approvalsFile, forgetFolder, listFolders, trustFolder } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
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
  // Where no question can be shown, typing the command is the yes.
  const isSilent = invocation.flag('yes') || output.json || !isTerminal(0) || !isTerminal(2)
  const agreed = isSilent || (await asksToTrust(configuration, invocation))
  if (agreed) await trustFolder(configuration, host, true)
  output.result({ folder: root, trusted: agreed }, () =>
    agreed
      ? `Your servers and hooks now start in ${shortPath(root)}. Servers of the project itself still wait for \`plugboard approve\`.`
      : `${shortPath(root)} is not trusted; your servers start in a neutral folder.`,
  )
  return EXIT.done
}

/** Whether the user's own servers may start in this folder; also asked by verbs that start servers. */
export async function asksToTrust(
  { place }: Configuration,
  { output }: Pick<Invocation, 'output'>,
): Promise<boolean> {
  const { confirms } = await import('../terminal/confirm.ts')
  const question = {
    head: 'Trust this folder?',
    notes: [
      `Your own servers and hooks start in a neutral folder, because ${shortPath(place.root)} is not trusted. In a trusted folder they start in it. Programs such as npx, uvx and python take code and settings from the folder they start in, so say yes only if you trust everything in it.`,
      `The answer is kept in ${shortPath(approvalsFile(place))}; \`plugboard trust\` changes it.`,
    ],
  }
  return await confirms(question, output.errorColor)
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

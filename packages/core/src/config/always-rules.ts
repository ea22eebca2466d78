// always-rules.ts: which server each "always" grant is for. The rule itself is in the project's private settings;
// this file is in the user's own folder and binds the rule to the server's signature, so another server of the same
// name gets no permission.
import { join } from 'node:path'
import { InvalidInput, IoError } from '../errors.ts'
import { withFileLock } from '../files/lock.ts'
import { readTextFile } from '../files/read.ts'
import { writeFileAtomic } from '../files/write.ts'
import { isObject } from '../json.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Place, plugboardHome } from './sources.ts'

/** rule → signatures of the servers it was granted for, in one project. */
export type AlwaysRules = ReadonlyMap<string, readonly string[]>

type Projects = Record<string, Record<string, string[]>>

export function alwaysRulesFile(place: Pick<Place, 'home' | 'env'>): string {
  return join(plugboardHome(place), 'grants.json')
}

/** An unreadable file binds every rule to nothing, so the user is prompted again. */
export async function readAlwaysRules(place: Place): Promise<AlwaysRules | 'unreadable'> {
  const projects = await readProjects(alwaysRulesFile(place))
  if (!projects) return 'unreadable'
  return new Map(Object.entries(Object.hasOwn(projects, place.root) ? (projects[place.root] ?? {}) : {}))
}

export async function recordAlwaysRule(place: Place, rule: string, signature: string): Promise<void> {
  const file = alwaysRulesFile(place)
  const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs, dirMode: 0o700 }
  await withFileLock(file, wait, async (lock) => {
    const projects = await readProjects(file)
    // Overwriting the file would drop the bindings of the rules already in it.
    if (!projects)
      throw new InvalidInput(`${file} cannot be read, so no "always" can be added.`, {
        hint: 'Repair it, or delete it together with the allow rules of your private project settings.',
      })
    const known = new Map(Object.entries(projects[place.root] ?? {}))
    known.set(rule, [...new Set([...(known.get(rule) ?? []), signature])])
    const next = { ...projects, [place.root]: Object.fromEntries(known) }
    if (!(await lock.stillHeld()))
      throw new IoError(`Another process took over ${file}.`, { hint: 'Nothing was changed; try again.' })
    const text = `${JSON.stringify({ version: 1, projects: next }, null, 2)}\n`
    await writeFileAtomic(file, text, { mode: 0o600, dirMode: 0o700 })
  })
}

async function readProjects(file: string): Promise<Projects | undefined> {
  const outcome = await readTextFile(file, CONFIG_LIMITS.fileBytes)
  if (outcome.kind === 'missing') return {}
  if (outcome.kind === 'problem') return undefined
  try {
    const { projects } = JSON.parse(outcome.text) as { projects?: unknown }
    return isProjects(projects) ? projects : undefined
  } catch {
    return undefined
  }
}

function isProjects(value: unknown): value is Projects {
  return (
    isObject(value) &&
    Object.values(value).every(
      (rules: unknown) =>
        isObject(rules) &&
        Object.values(rules).every(
          (list: unknown) => Array.isArray(list) && list.every((one) => typeof one === 'string'),
        ),
    )
  )
}

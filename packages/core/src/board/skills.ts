// skills.ts: the skills that servers offer: their list, and their files, verified. A file of a skill is read only on
// request. skills/ decides whether a file is valid.
import type { Connection } from '../connection/connection.ts'
import { isObject, type ServerCapabilities } from '../connection/server-info.ts'
import { InvalidInput, NotFound, SkillUnverified } from '../errors.ts'
import {
  folderOf,
  pathBelow,
  SKILL_FILE,
  SKILLS_EXTENSION,
  type SkillEntry,
  type SkillFile,
  verifyFile,
  type WantedFile,
} from '../skills/index.ts'
import type { CallContext } from '../tools/index.ts'
import type { OfRequest, ResourcesAndPrompts } from './resources-and-prompts.ts'

/** A skill as it is listed: none of its files has been read. */
export interface BoardSkill {
  readonly server: string
  readonly name: string
  readonly description: string
  /** The address of its `SKILL.md`; identifies the skill where two of a server have the same name. */
  readonly uri: string
  /** Its files as paths below its folder; undefined when the server does not list them. */
  readonly files?: readonly string[]
}

/**
 * How a skill is read.
 *
 * @example
 * const options: ReadSkillOptions = { file: 'reference.md', caller: 'user' }
 * console.log(options.file) // reference.md
 */
export interface ReadSkillOptions extends CallContext {
  /** Which of its files, as a path below its folder; its `SKILL.md` otherwise. */
  readonly file?: string | undefined
}

export class Skills {
  readonly #offers: ResourcesAndPrompts
  readonly #connection: (name: string) => Connection

  constructor(offers: ResourcesAndPrompts, connection: (name: string) => Connection) {
    this.#offers = offers
    this.#connection = connection
  }

  async list(of: OfRequest): Promise<readonly BoardSkill[]> {
    const lists = await this.#offers.each(of, hasSkills, (one, signal) => one.list('skills', signal))
    return lists.flatMap(({ server, items }) => unrepeated(items).map((skill) => described(server, skill)))
  }

  /** Reads one file of a skill. The list may be older than the file: after a mismatch both are read again, once. */
  async read(server: string, name: string, options: ReadSkillOptions): Promise<SkillFile> {
    const { file = SKILL_FILE, ...context } = options
    const { skills } = this.#connection(server).catalog
    const wasKnown = skills.fresh
    const entries = await this.#entries(server, context.signal)
    try {
      return await this.#file(wantedFile(server, entries, name, file), context)
    } catch (error) {
      if (!wasKnown || !(error instanceof SkillUnverified)) throw error
      skills.drop()
      const refreshed = await this.#entries(server, context.signal)
      return await this.#file(wantedFile(server, refreshed, name, file), context)
    }
  }

  async #file(wanted: WantedFile, context: CallContext): Promise<SkillFile> {
    return await verifyFile(wanted, await this.#offers.read(wanted.server, wanted.uri, context))
  }

  async #entries(server: string, signal: AbortSignal | undefined): Promise<readonly SkillEntry[]> {
    const of = { server, signal }
    const [list] = await this.#offers.each(of, hasSkills, (one, stop) => one.list('skills', stop))
    return unrepeated(list?.items ?? [])
  }
}

function hasSkills({ extensions }: ServerCapabilities): boolean {
  return isObject(extensions) && isObject(extensions[SKILLS_EXTENSION])
}

function wantedFile(server: string, entries: readonly SkillEntry[], name: string, file: string): WantedFile {
  const named = entries.filter((skill) => skill.uri === name || skill.name === name)
  const [skill] = named
  const details = { server, stage: 'call' } as const
  if (!skill)
    throw new NotFound('skill', name, {
      ...details,
      hint:
        entries.length === 0
          ? `"${server}" has no skills.`
          : `It has ${some(entries.map((one) => one.name))}.`,
    })
  if (named.length > 1)
    throw new InvalidInput(`"${server}" has more than one skill named "${name}".`, {
      ...details,
      hint: `Name one by its address: ${some(named.map(({ uri }) => uri))}.`,
    })
  if (skill.files === 'dynamic') return dynamicFile(server, skill, file)
  const listed = skill.files.find(({ path }) => path === file)
  if (!listed)
    throw new NotFound('skill file', file, {
      ...details,
      hint: `"${skill.name}" has ${some(skill.files.map(({ path }) => path))}.`,
    })
  return { server, skill, path: listed.path, uri: listed.uri, listed }
}

/** No list names the file, but it still has to be inside the skill's folder. */
function dynamicFile(server: string, skill: SkillEntry, path: string): WantedFile {
  if (path === SKILL_FILE) return { server, skill, path, uri: skill.uri, listed: undefined }
  const folder = folderOf(skill.uri) ?? ''
  const uri = `${folder}/${path.split('/').map(encodeURIComponent).join('/')}`
  if (pathBelow(folder, uri) !== path)
    throw new InvalidInput(`"${path}" is not a path below the folder of the skill "${skill.name}".`, {
      server,
      stage: 'call',
    })
  return { server, skill, path, uri, listed: undefined }
}

/** Two entries with one address cannot both be right; neither counts. */
function unrepeated(entries: readonly SkillEntry[]): readonly SkillEntry[] {
  const seen = new Map<string, number>()
  for (const { uri } of entries) seen.set(uri, (seen.get(uri) ?? 0) + 1)
  return entries.filter(({ uri }) => seen.get(uri) === 1)
}

function described(server: string, { name, description, uri, files }: SkillEntry): BoardSkill {
  return {
    server,
    name,
    description,
    uri,
    ...(files !== 'dynamic' && { files: files.map(({ path }) => path) }),
  }
}

function some(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ')
}

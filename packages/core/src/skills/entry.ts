// entry.ts: one skill as its server describes it: its name and its files, with their sizes and digests. Everything
// here is untrusted, so an invalid entry is rejected whole. verify.ts checks the files.
import { isObject } from '../json.ts'
import { SKILL_LIMITS } from '../limits.ts'

/** A server with this in its capabilities' `extensions` has skills. */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills'

export interface SkillFileEntry {
  /** Below the skill's folder, decoded: `references/FORMS.md`. */
  readonly path: string
  readonly uri: string
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
  readonly size: number
}

export interface SkillEntry {
  readonly name: string
  readonly description: string
  /** The address of its `SKILL.md`. */
  readonly uri: string
  /** The front matter of its `SKILL.md`, according to the server. */
  readonly frontmatter: Readonly<Record<string, unknown>>
  /** Every file, or `dynamic`: then the server lists none, and nothing can be verified. */
  readonly files: readonly SkillFileEntry[] | 'dynamic'
}

export const SKILL_FILE = 'SKILL.md'
const NAME = /^[\da-z]+(?:-[\da-z]+)*$/
/** Path separators, a drive's colon, and characters that no terminal should receive. */
const UNPLAIN = /[/\\:]|\p{Cc}/u
const DIGEST = /^sha256:[\da-f]{64}$/

/** The entry, or a sentence on what is wrong with it. */
export function parseSkill(item: unknown): SkillEntry | string {
  if (!isObject(item) || typeof item.uri !== 'string') return 'a skill without a uri'
  const { uri, frontmatter, resources } = item
  const called = `the skill ${JSON.stringify(uri.slice(0, 200))}`
  const folder = folderOf(uri)
  if (folder === undefined) return `${called} is not a SKILL.md in a folder of its own`
  if (!isObject(frontmatter)) return `${called} has no frontmatter`
  const { name, description } = frontmatter
  if (typeof name !== 'string' || name.length > SKILL_LIMITS.nameChars || !NAME.test(name))
    return `${called} has a name that is not lowercase letters, digits and single hyphens`
  if (lastPart(folder) !== name) return `${called} has a name that is not its folder's`
  if (typeof description !== 'string' || description === '') return `${called} has no description`
  if ([...description].length > SKILL_LIMITS.descriptionChars) return `${called} has too long a description`
  const files = resources === 'dynamic' ? resources : parseFiles(resources, folder)
  if (typeof files === 'string' && files !== 'dynamic') return `${called} ${files}`
  if (files !== 'dynamic' && !files.some(({ path }) => path === SKILL_FILE))
    return `${called} does not list its own SKILL.md`
  return { name, description, uri, frontmatter, files }
}

function parseFiles(value: unknown, folder: string): readonly SkillFileEntry[] | string {
  if (!Array.isArray(value)) return 'has no list of files'
  if (value.length > SKILL_LIMITS.files) return `has more than ${SKILL_LIMITS.files} files`
  const files = new Map<string, SkillFileEntry>()
  let bytes = 0
  for (const item of value) {
    if (!isObject(item) || typeof item.uri !== 'string') return 'lists a file without a uri'
    const { uri, digest, size } = item
    const shown = JSON.stringify(uri.slice(0, 200))
    const path = pathBelow(folder, uri)
    if (path === undefined) return `lists ${shown}, which is not below its own folder`
    if (typeof digest !== 'string' || !DIGEST.test(digest)) return `lists ${shown} without a sha256 digest`
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
      return `lists ${shown} without a size`
    if (files.has(path)) return `lists ${shown} twice`
    files.set(path, { path, uri, digest, size })
    bytes += size
  }
  if (bytes > SKILL_LIMITS.bytes) return `has more than ${SKILL_LIMITS.bytes} bytes`
  return [...files.values()]
}

/** The address of the folder of a `SKILL.md`, without the final slash. */
export function folderOf(skillUri: string): string | undefined {
  const href = plainAddress(skillUri)
  if (!href?.endsWith(`/${SKILL_FILE}`)) return undefined
  const folder = href.slice(0, -SKILL_FILE.length - 1)
  return folder === '' || folder.endsWith('/') || folder.endsWith(':') ? undefined : folder
}

/**
 * The path of an address below a folder, decoded; undefined when it is not below it, or when some reader of the path
 * could be led elsewhere: by dots, by an encoded slash, by a control character, by a drive letter.
 */
export function pathBelow(folder: string, uri: string): string | undefined {
  const href = plainAddress(uri)
  if (!href?.startsWith(`${folder}/`)) return undefined
  // The parser has already resolved the dots; a path that had any is not what it claims to be.
  if (/(^|[/\\])(\.|%2e){1,2}([/\\]|$)/i.test(uri)) return undefined
  const parts = href
    .slice(folder.length + 1)
    .split('/')
    .map(decoded)
  return parts.every(isPlainName) ? parts.join('/') : undefined
}

export function sameAddress(a: string, b: string): boolean {
  const href = plainAddress(a)
  return href !== undefined && href === plainAddress(b)
}

/** In the URL standard's form; without a query, a fragment or a password. */
function plainAddress(uri: string): string | undefined {
  if (uri.length > SKILL_LIMITS.uriChars || !URL.canParse(uri)) return undefined
  const url = new URL(uri)
  const plain = url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  return plain && !/[?#]/.test(uri) ? url.href : undefined
}

function lastPart(folder: string): string | undefined {
  const { pathname, host } = new URL(folder)
  return decoded(pathname === '' || pathname === '/' ? host : pathname.slice(pathname.lastIndexOf('/') + 1))
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    // An invalid escape is not a name that two sides would read alike.
    return undefined
  }
}

function isPlainName(part: string | undefined): part is string {
  return part !== undefined && part !== '' && part !== '.' && part !== '..' && !UNPLAIN.test(part)
}

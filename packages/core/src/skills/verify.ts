// verify.ts: compares a file of a skill with what its server's entry listed. A file that differs is not returned, not
// even with a warning: instructions are code for the agent that follows them.
import { type SkillFault, SkillUnverified } from '../errors.ts'
import { lazyModule } from '../lazy.ts'
import { SKILL_LIMITS } from '../limits.ts'
import { SKILL_FILE, type SkillEntry, type SkillFileEntry, sameAddress } from './entry.ts'
import { differences, readSkillText } from './frontmatter.ts'

/** The result of `resources/read`. */
export type SentContent =
  | { readonly uri: string; readonly mimeType?: string; readonly text: string }
  | { readonly uri: string; readonly mimeType?: string; readonly blob: string }

/** A file of a skill. */
export interface SkillFile {
  readonly server: string
  /** The skill's. */
  readonly name: string
  readonly description: string
  /** Below the skill's folder: `SKILL.md`, `references/FORMS.md`. */
  readonly path: string
  readonly uri: string
  readonly mimeType?: string
  /** Exactly the bytes that size and digest were checked on. */
  readonly bytes: Uint8Array
  /** When the bytes are text. */
  readonly text?: string
  /** False only for skills whose files the server does not list. */
  readonly verified: boolean
  /** For `SKILL.md` only: its front matter, the same as the entry's, and the instructions after it. */
  readonly frontmatter?: Readonly<Record<string, unknown>>
  readonly body?: string
}

/** The requested file; `listed` is undefined for a `dynamic` skill. */
export interface WantedFile {
  readonly server: string
  readonly skill: SkillEntry
  readonly path: string
  readonly uri: string
  readonly listed: SkillFileEntry | undefined
}

export async function verifyFile(wanted: WantedFile, sent: readonly SentContent[]): Promise<SkillFile> {
  const { server, skill, path, uri, listed } = wanted
  const fault = (reason: SkillFault, what: string, lines?: readonly string[]) =>
    new SkillUnverified(server, skill.name, reason, `${path}: ${what}`, { uri, differences: lines })
  const content = sent.find((one) => sameAddress(one.uri, uri))
  if (!content) throw fault('missing', 'the server answered with another resource')
  const bytes = bytesOf(content)
  if (!bytes) throw fault('encoding', 'the server sent bytes that are not base64')
  if (listed && bytes.length !== listed.size)
    throw fault('size', `it has ${bytes.length} bytes, and should have ${listed.size}`)
  if (bytes.length > SKILL_LIMITS.bytes) throw fault('size', `it has more than ${SKILL_LIMITS.bytes} bytes`)
  if (listed && sha256(bytes) !== listed.digest)
    throw fault('digest', 'it is not the file that the server promised')
  const text = 'text' in content ? content.text : asText(bytes)
  const file: SkillFile = {
    server,
    name: skill.name,
    description: skill.description,
    path,
    uri,
    ...(content.mimeType !== undefined && { mimeType: content.mimeType }),
    bytes,
    ...(text !== undefined && { text }),
    verified: listed !== undefined,
  }
  if (path !== SKILL_FILE) return file
  if (text === undefined) throw fault('frontmatter', 'it is not text')
  const read = await readSkillText(text)
  if (typeof read === 'string') throw fault('frontmatter', read)
  const different = differences(skill.frontmatter, read.frontmatter)
  if (different.length > 0)
    throw fault(
      'frontmatter',
      `its frontmatter differs from what the server listed: ${different.slice(0, 5).join('; ')}`,
      different,
    )
  return { ...file, ...read }
}

function bytesOf(content: SentContent): Uint8Array | undefined {
  if ('text' in content) return Buffer.from(content.text)
  // Buffer.from skips what is not base64, and a file that loses bytes that way is another file.
  const { blob } = content
  return blob.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(blob)
    ? Buffer.from(blob, 'base64')
    : undefined
}

function sha256(bytes: Uint8Array): string {
  return `sha256:${lazyModule('node:crypto').createHash('sha256').update(bytes).digest('hex')}`
}

function asText(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    // Not text: callers use the bytes.
    return undefined
  }
}

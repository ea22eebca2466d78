import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { board, configured, folder } from '../connection/fixtures/kit.ts'
import { readLog } from '../connection/server-log.ts'
import { SkillUnverified } from '../errors.ts'

const script = (name: string) => fileURLToPath(new URL(`../skills/fixtures/${name}.mjs`, import.meta.url))

async function official() {
  const entry = { type: 'stdio', command: process.execPath, args: [script('official')], env: {} } as const
  return await board({ servers: [configured('docs', entry)], caller: 'user' })
}

async function hostile(fault: string) {
  const seen = join(folder(), 'seen')
  const args = [script('hostile'), fault]
  const entry = { type: 'stdio', command: process.execPath, args, env: { SEEN: seen } } as const
  const made = await board({ servers: [configured('bad', entry)], caller: 'user' })
  const asked = () => (existsSync(seen) ? readFileSync(seen, 'utf8').split('\n').filter(Boolean) : [])
  return { board: made, asked }
}

describe('skills of a server of the official SDK', () => {
  it('are listed by name and description, with their files', async () => {
    const skills = await (await official()).skills()
    expect(skills).toEqual([
      {
        server: 'docs',
        name: 'pdf-processing',
        description: 'Extract, fill and assemble PDF documents',
        uri: 'skill://pdf-processing/SKILL.md',
        files: expect.arrayContaining(['SKILL.md', 'assets/dot.bin', 'references/FORMS.md']),
      },
      expect.objectContaining({ name: 'wide-tables', uri: 'skill://tables/wide-tables/SKILL.md' }),
    ])
  })

  it('are read and verified, whatever YAML their head is written in', async () => {
    const file = await (await official()).readSkill('docs', 'pdf-processing')
    expect(file).toMatchObject({
      server: 'docs',
      name: 'pdf-processing',
      path: 'SKILL.md',
      uri: 'skill://pdf-processing/SKILL.md',
      verified: true,
      frontmatter: { metadata: { version: '1.0', audience: 'everybody who prints' } },
    })
    expect(file.body).toMatch(/^\n# PDF processing/)
    expect(file.text).toContain('license: MIT')
  })

  it('have further files, as text or as bytes', async () => {
    const docs = await official()
    const forms = await docs.readSkill('docs', 'pdf-processing', { file: 'references/FORMS.md' })
    expect(forms).toMatchObject({ text: 'Forms have fields.\n', verified: true, path: 'references/FORMS.md' })
    const dot = await docs.readSkill('docs', 'pdf-processing', { file: 'assets/dot.bin' })
    expect([...dot.bytes]).toEqual([0, 1, 254, 255])
    expect(dot.text).toBeUndefined()
  })

  it('say what there is instead of what is not there', async () => {
    const docs = await official()
    await expect(docs.readSkill('docs', 'nope')).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      hint: 'It has pdf-processing, wide-tables.',
    })
    await expect(docs.readSkill('docs', 'wide-tables', { file: '../x' })).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      hint: '"wide-tables" has SKILL.md.',
    })
    await expect(docs.readSkill('nobody', 'x')).rejects.toMatchObject({ code: 'SERVER_NOT_FOUND' })
  })

  it('are read only where permission to read is given', async () => {
    const entry = {
      type: 'stdio',
      command: process.execPath,
      args: [script('official')],
      env: {},
      permissions: { readPermission: 'deny' },
    } as const
    const closed = await board({ servers: [configured('docs', entry)], caller: 'agent' })
    await expect(closed.readSkill('docs', 'wide-tables')).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })
})

describe('what is read of a skill', () => {
  it('is nothing before a caller asks for exactly that file', async () => {
    const { board: bad, asked } = await hostile('')
    await bad.ready()
    await bad.skills()
    expect(asked().filter((line) => line.startsWith('resources/read'))).toEqual([])
    await bad.readSkill('bad', 'notes')
    expect(asked().filter((line) => line.startsWith('resources/read'))).toEqual([
      'resources/read skill://mine/notes/SKILL.md',
    ])
  })

  it('is nothing of a server that does not declare skills', async () => {
    const { board: bad, asked } = await hostile('undeclared')
    expect(await bad.skills()).toEqual([])
    await expect(bad.readSkill('bad', 'notes')).rejects.toMatchObject({
      code: 'SKILL_NOT_FOUND',
      hint: '"bad" has no skills.',
    })
    expect(asked().some((line) => line.startsWith('skills/') || line.startsWith('resources/read'))).toBe(
      false,
    )
  })

  it('may come as base64', async () => {
    const { board: bad } = await hostile('blob')
    expect(await bad.readSkill('bad', 'notes')).toMatchObject({ verified: true, body: 'Write it down.\n' })
  })

  it('is held against a fresh list when the one we have may be old', async () => {
    const { board: bad } = await hostile('changed')
    await bad.skills()
    expect(await bad.readSkill('bad', 'notes')).toMatchObject({ verified: true, body: 'Write it DOWN.\n' })
  })

  it('is unverified, and says so, where the server lists no files', async () => {
    const { board: bad, asked } = await hostile('dynamic')
    const [skill] = await bad.skills()
    expect(skill).not.toHaveProperty('files')
    expect(await bad.readSkill('bad', 'notes')).toMatchObject({ verified: false, body: 'Write it down.\n' })
    expect(await bad.readSkill('bad', 'notes', { file: 'more.md' })).toMatchObject({ verified: false })
    for (const file of ['../secret', 'a/../../secret', '', 'a//b', '..\\secret', 'C:/x'])
      await expect(bad.readSkill('bad', 'notes', { file })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(asked().filter((line) => line.startsWith('resources/read'))).toHaveLength(2)
  })

  it('is named by its address where two skills have one name', async () => {
    const { board: bad } = await hostile('namesakes')
    await expect(bad.readSkill('bad', 'notes')).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      hint: expect.stringContaining('skill://yours/notes/SKILL.md'),
    })
    expect(await bad.readSkill('bad', 'skill://mine/notes/SKILL.md')).toMatchObject({ verified: true })
  })
})

describe('a skill whose file is not what was listed', () => {
  it.each([
    ['digest', 'digest'],
    ['size', 'size'],
    ['huge', 'size'],
    ['frontmatter', 'frontmatter'],
    ['headless', 'frontmatter'],
    ['endless', 'frontmatter'],
    ['bomb', 'frontmatter'],
    ['another file', 'missing'],
    ['nothing', 'missing'],
    ['not base64', 'encoding'],
  ])('is refused: %s', async (fault, reason) => {
    const { board: bad } = await hostile(fault)
    const error = await bad.readSkill('bad', 'notes').catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(SkillUnverified)
    expect(error).toMatchObject({ code: 'SKILL_UNVERIFIED', server: 'bad', reason })
  })

  it('names the field of its head that differs', async () => {
    const { board: bad } = await hostile('frontmatter')
    await expect(bad.readSkill('bad', 'notes')).rejects.toMatchObject({
      differences: ['description is "Takes everything", not "Takes notes"'],
    })
  })
})

describe('a skill whose entry is not in order', () => {
  it.each([
    ['escape', 'not below its own folder'],
    ['dots', 'not below its own folder'],
    ['encoded dots', 'not below its own folder'],
    ['encoded slash', 'not below its own folder'],
    ['backslash', 'not below its own folder'],
    ['query', 'not below its own folder'],
    ['another scheme', 'not below its own folder'],
    ['twice', 'twice'],
    ['without itself', 'does not list its own SKILL.md'],
    ['not its folder', "not its folder's"],
    ['bad name', 'lowercase letters'],
    ['long description', 'too long a description'],
    ['many files', 'more than 512 files'],
    ['many bytes', 'more than 16777216 bytes'],
    ['negative size', 'without a size'],
    ['weak digest', 'without a sha256 digest'],
    ['not an object', 'a skill without a uri'],
    ['repeated', undefined],
  ])('is left out, and the log says why: %s', async (fault, why) => {
    const { board: bad, asked } = await hostile(fault)
    expect(await bad.skills()).toEqual([])
    await expect(bad.readSkill('bad', 'notes')).rejects.toMatchObject({ code: 'SKILL_NOT_FOUND' })
    expect(asked().some((line) => line.startsWith('resources/read'))).toBe(false)
    await bad.close()
    if (why === undefined) return
    const lines = await readLog(bad.stateDir, 'bad')
    expect(JSON.stringify(lines)).toContain(JSON.stringify(why).slice(1, -1))
  })
})

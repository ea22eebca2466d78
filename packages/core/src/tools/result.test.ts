import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { decodeBase64, identify } from './media.ts'
import { plainResult, presentResult, resultLimit } from './result.ts'
import { pruneResults, resultFiles } from './result-files.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'results-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const present = (raw: unknown, maxChars = 1000) =>
  presentResult(raw, {
    maxChars,
    files: resultFiles({ folder, host: systemHost(), server: '../../evil', tool: 'a/b\0c' }),
  })
const texts = (result: Awaited<ReturnType<typeof present>>) =>
  result.content.map((block) => (block.type === 'text' ? block.text : `<${block.mimeType}>`))
const picture = (width: number, height: number, noise = false) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: '#c33',
      ...(noise && { noise: { type: 'gaussian' as const, mean: 128, sigma: 60 } }),
    },
  })
    .png({ compressionLevel: noise ? 0 : 6 })
    .toBuffer()

describe('the result of an ordinary call', () => {
  const text = (of: unknown) => ({ type: 'text', text: of })
  it.each<[string, unknown]>([
    ['a text', { content: [text('hi')] }],
    ['several', { content: [text('a'), text(''), text('b')] }],
    ['an error', { content: [text('no')], isError: true }],
    ['with _meta', { content: [text('a')], _meta: { trace: 1 } }],
    ['with unknown fields', { content: [text('a')], more: 1, resultType: 'complete' }],
    ['with annotations', { content: [{ ...text('a'), annotations: { audience: ['user'] } }] }],
    ['just short enough', { content: [text('x'.repeat(1000))] }],
  ])('is the same at once as by the general rule: %s', async (_, raw) => {
    expect(plainResult(raw, 1000)).toEqual(await present(raw))
    expect(plainResult(raw, 1000, true)).toEqual({ ...(await present(raw)), answer: raw })
  })

  it.each<[string, unknown]>([
    ['too long', { content: [text('x'.repeat(600)), text('x'.repeat(600))] }],
    ['empty', { content: [text('')] }],
    ['without parts', { content: [] }],
    ['without content', { toolResult: 1 }],
    ['with structured content', { content: [text('a')], structuredContent: { a: 1 } }],
    ['an image', { content: [text('a'), { type: 'image', data: '', mimeType: 'image/png' }] }],
    ['a link', { content: [{ type: 'resource_link', uri: 'a://b' }] }],
    ['a part that is no object', { content: [text('a'), null] }],
    ['a text that is no text', { content: [text(7)] }],
    ['no object', null],
  ])('is left to the general rule: %s', (_, raw) => {
    expect(plainResult(raw, 1000)).toBeUndefined()
  })
})

describe('text and structure', () => {
  it('shows the text', async () => {
    expect(texts(await present({ content: [{ type: 'text', text: 'hi' }] }))).toEqual(['hi'])
  })

  it.each<[string, string[], unknown, boolean]>([
    ['is the same JSON in another order', ['{ "b": 2, "a": 1 }'], { a: 1, b: 2 }, true],
    [
      'shows every value',
      ['Paris: 21 degrees, cloudy'],
      { city: 'Paris', temperature: 21, sky: 'cloudy' },
      true,
    ],
    ['says something else', ['Done.'], { id: 7 }, false],
    ['shows a value only as part of another', ['Done in 17 ms'], { id: 7 }, false],
    ['is not there', [], { id: 7 }, false],
    ['says only a part', ['Paris'], { city: 'Paris', temperature: 21 }, false],
  ])(
    'repeats the structured part unless the text says it: the text %s',
    async (_, said, structuredContent, silent) => {
      const result = await present({
        content: said.map((text) => ({ type: 'text', text })),
        structuredContent,
      })
      expect(texts(result)).toEqual(
        silent ? said : [...said, JSON.stringify(structuredContent, undefined, 2)],
      )
      expect(result.structuredContent).toEqual(structuredContent)
    },
  )

  it('keeps structured content that is not an object', async () => {
    expect(await present({ content: [], structuredContent: null })).toMatchObject({ structuredContent: null })
  })

  it('cuts long text at a line and saves the whole', async () => {
    const long = Array.from({ length: 500 }, (_, line) => `line ${line}`).join('\n')
    const result = await present({ content: [{ type: 'text', text: long }] })
    const [shown = '', note = ''] = texts(result)
    expect(shown.length).toBeLessThanOrEqual(1000)
    expect(long.startsWith(shown)).toBe(true)
    expect(shown.endsWith('\n')).toBe(true)
    const file = result.savedFiles[0]
    expect(note).toBe(
      `[cut: ${shown.length} of ${long.length} characters are shown; all of it is in ${file?.path}]`,
    )
    expect(await readFile(file?.path ?? '', 'utf8')).toBe(long)
    expect(result.truncated).toBe(true)
  })

  it('counts all parts of the text together, and never cuts a character in two', async () => {
    const result = await present(
      {
        content: [
          { type: 'text', text: '😀'.repeat(400) },
          { type: 'text', text: '😀'.repeat(400) },
        ],
      },
      1001,
    )
    const shown = texts(result).slice(0, -1).join('')
    expect(shown.length).toBeLessThanOrEqual(1001)
    expect(shown).not.toMatch(/\p{Surrogate}/u)
  })

  it('takes 200 MB of text', async () => {
    const huge = 'x'.repeat(200 * 1024 * 1024)
    const result = await present({
      content: [{ type: 'text', text: huge }],
      structuredContent: { a: 'not in it' },
    })
    expect((await stat(result.savedFiles[0]?.path ?? '')).size).toBeGreaterThanOrEqual(huge.length)
    expect(JSON.stringify(result.content).length).toBeLessThan(2000)
    await rm(result.savedFiles[0]?.path ?? '')
  })

  it('says so when there is nothing, error or not', async () => {
    expect(texts(await present({ content: [] }))).toEqual(['(no output)'])
    const error = await present({ isError: true })
    expect(error.isError).toBe(true)
    expect(texts(error)).toEqual(['The tool reported an error and said nothing about it.'])
  })

  it.each([
    [undefined],
    [null],
    [[]],
    [{ content: [null, 7, { type: 'text' }, { type: 'text', text: 9 }] }],
    [{ isError: 'true' }],
  ])('takes an answer that is not one: %j', async (raw) => {
    expect(texts(await present(raw))).toEqual(['(no output)'])
  })

  it.each([
    [{ answer: 42 }, '{\n  "answer": 42\n}'],
    [{ toolResult: [1, 'a'] }, '{\n  "toolResult": [\n    1,\n    "a"\n  ]\n}'],
    [{ content: [], answer: 42, _meta: { a: 1 }, isError: false }, '{\n  "answer": 42\n}'],
    [
      { content: { type: 'text', text: 'x' } },
      '{\n  "content": {\n    "type": "text",\n    "text": "x"\n  }\n}',
    ],
    [{ content: 'plain' }, 'plain'],
    ['plain', 'plain'],
    [42, '42'],
    [[1], '[\n  1\n]'],
  ])('shows an answer without content as its JSON: %j', async (raw, text) => {
    expect(texts(await present(raw))).toEqual([text])
  })

  it('shows other fields only when there is nothing else', async () => {
    const content = [{ type: 'text', text: 'hi' }]
    expect(texts(await present({ content, answer: 42 }))).toEqual(['hi'])
    expect(texts(await present({ structuredContent: { a: 1 }, answer: 42 }))).toEqual(['{\n  "a": 1\n}'])
  })

  it('keeps the answer as it came only for a caller that asks', async () => {
    const raw = { content: [{ type: 'text', text: 'hi' }], more: 1 }
    const files = resultFiles({ folder, host: systemHost(), server: 's', tool: 't' })
    expect(await present(raw)).not.toHaveProperty('answer')
    const kept = await presentResult(raw, { maxChars: 1, files, keepAnswer: true })
    expect(kept.answer).toBe(raw)
    expect(await presentResult('x', { maxChars: 1, files, keepAnswer: true })).not.toHaveProperty('answer')
  })

  it('leaves structured content to the program when the text is known to stand alone', async () => {
    const files = resultFiles({ folder, host: systemHost(), server: 's', tool: 't' })
    const alone = (content: unknown) =>
      presentResult(
        { content, structuredContent: { id: 77 } },
        { maxChars: 1000, files, textStandsAlone: true },
      )
    expect(texts(await alone([{ type: 'text', text: 'Done.' }]))).toEqual(['Done.'])
    expect(texts(await alone([{ type: 'text', text: '' }]))).toEqual(['', '{\n  "id": 77\n}'])
    expect(texts(await alone([]))).toEqual(['{\n  "id": 77\n}'])
  })

  it('shows links and resources in one line and under their address', async () => {
    const result = await present({
      content: [
        { type: 'resource_link', uri: 'file:///a', name: 'A', mimeType: 'text/plain', description: 'the a' },
        { type: 'resource', resource: { uri: 'test://b', text: 'bee' } },
        { type: 'hologram', depth: 3 },
      ],
    })
    expect(texts(result).slice(0, 2)).toEqual([
      '[link: A · file:///a · text/plain · the a]',
      '[test://b]\nbee',
    ])
    expect(result.warnings).toHaveLength(1)
  })

  it('survives structure nested beyond the stack', async () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    expect(
      texts(await present({ content: [{ type: 'text', text: 'x' }], structuredContent: deep })),
    ).toHaveLength(2)
  })
})

describe('bytes', () => {
  it('shows a picture and saves it under a name of ours, with the right extension', async () => {
    const data = (await picture(30, 20)).toString('base64')
    const result = await present({ content: [{ type: 'image', data, mimeType: 'text/html' }] })
    expect(result.content[0]).toEqual({ type: 'image', data, mimeType: 'image/png' })
    const [file] = result.savedFiles
    expect(dirname(file?.path ?? '')).toBe(folder)
    expect(basename(file?.path ?? '')).toMatch(/^[\w-]+\.png$/)
    expect(await sharp(file?.path).metadata()).toMatchObject({ width: 30, height: 20, format: 'png' })
    expect((await stat(file?.path ?? '')).mode & 0o777).toBe(0o600)
  })

  it('makes a picture smaller that has too many pixels', async () => {
    const data = (await picture(3000, 1000)).toString('base64')
    const result = await present({ content: [{ type: 'image', data, mimeType: 'image/png' }] })
    const shown = result.content[0]
    expect(shown?.type).toBe('image')
    const bytes = Buffer.from(shown?.type === 'image' ? shown.data : '', 'base64')
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 2000, height: 667 })
    expect(texts(result)[1]).toContain('shown at 2000 × 667')
  })

  it('makes a picture smaller that has too many bytes', async () => {
    const bytes = await picture(1900, 1900, true)
    expect(bytes.length).toBeGreaterThan(5 * 1024 * 1024)
    const result = await present({
      content: [{ type: 'image', data: bytes.toString('base64'), mimeType: 'image/png' }],
    })
    const shown = result.content[0]
    expect(shown?.type === 'image' && shown.data.length).toBeLessThan((5 * 1024 * 1024 * 4) / 3 + 4)
  })

  it('does not decode a bomb', async () => {
    const bomb = await picture(10, 10)
    bomb.writeUInt32BE(60_000, 16)
    bomb.writeUInt32BE(60_000, 20)
    const result = await present({
      content: [{ type: 'image', data: bomb.toString('base64'), mimeType: 'image/png' }],
    })
    expect(texts(result)[0]).toContain('60000 × 60000 pixels are too many to decode')
    expect(result.savedFiles).toHaveLength(1)
  })

  it.each([
    ['a picture that is none', Buffer.from('not a picture').toString('base64'), 'application/octet-stream'],
    [
      'a picture that ends in its header',
      Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64'),
      'its header is broken',
    ],
  ])('saves %s and does not show it', async (_, data, words) => {
    const result = await present({ content: [{ type: 'image', data, mimeType: 'image/png' }] })
    expect(texts(result)[0]).toContain(words)
    expect(result.content.every((block) => block.type === 'text')).toBe(true)
  })

  it('does not show a large picture that cannot be decoded', async () => {
    const broken = (await picture(2500, 10)).subarray(0, 60)
    const result = await present({
      content: [{ type: 'image', data: broken.toString('base64'), mimeType: 'image/png' }],
    })
    expect(texts(result)[0]).toContain('could not be decoded')
  })

  it.each(['%%%', 'abc d*', '', 'A', 7, undefined])('says that broken base64 is broken: %j', async (data) => {
    const result = await present({ content: [{ type: 'audio', data, mimeType: 'audio/wav' }] })
    expect(texts(result)[0]).toMatch(/^\[audio: the data could not be decoded/)
    expect(result.savedFiles).toEqual([])
  })

  it('saves sound and blobs and tells type and size', async () => {
    const wav = Buffer.concat([Buffer.from('RIFF....WAVEfmt '), Buffer.alloc(2000)])
    const result = await present({
      content: [
        { type: 'audio', data: wav.toString('base64'), mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: { uri: 'test://zip', blob: Buffer.from('PK\x03\x04rest').toString('base64') },
        },
      ],
    })
    expect(texts(result)[0]).toMatch(/^\[audio saved to .*\.wav \(audio\/wav, 2\.0 KiB\)\]$/)
    expect(texts(result)[1]).toMatch(
      /^\[resource test:\/\/zip saved to .*\.zip \(application\/zip, 8 bytes\)\]$/,
    )
  })

  it('says what to do when the disk refuses', async () => {
    const file = join(folder, 'occupied')
    await writeFile(file, '')
    const files = resultFiles({ folder: join(file, 'x'), host: systemHost(), server: 's', tool: 't' })
    await expect(
      presentResult({ content: [{ type: 'audio', data: 'AAAA' }] }, { maxChars: 10, files }),
    ).rejects.toMatchObject({ code: 'IO_ERROR', hint: expect.stringContaining('write to') })
  })
})

describe('media', () => {
  it('reads both alphabets and data URLs', () => {
    for (const text of ['-_-_', '+/+/', 'data:image/png;base64,+/+/', '+/\n+/'])
      expect(decodeBase64(text)).toEqual(Buffer.from('+/+/', 'base64'))
  })

  it('finds the size of every kind of picture by its header', async () => {
    for (const format of ['png', 'jpeg', 'gif', 'webp'] as const) {
      const bytes = await sharp(await picture(33, 44))
        .toFormat(format)
        .toBuffer()
      expect(identify(bytes, undefined)).toMatchObject({ mimeType: `image/${format}`, width: 33, height: 44 })
    }
  })
})

describe('limits', () => {
  it.each([
    [undefined, {}, 100_000],
    [{ 'anthropic/maxResultSizeChars': 300_000 }, {}, 300_000],
    [{ 'anthropic/maxResultSizeChars': 9e9 }, {}, 500_000],
    [{ 'anthropic/maxResultSizeChars': '7' }, {}, 100_000],
    [undefined, { MAX_MCP_OUTPUT_TOKENS: '1000' }, 4000],
    [{ 'anthropic/maxResultSizeChars': 300_000 }, { MAX_MCP_OUTPUT_TOKENS: '1000' }, 4000],
    [undefined, { MAX_MCP_OUTPUT_TOKENS: 'many' }, 100_000],
  ])('%j with %j is %i', (meta, env, limit) => {
    expect(resultLimit(meta, env)).toBe(limit)
  })

  it('forgets saved results after a time', async () => {
    const old = await mkdtemp(join(folder, 'old-'))
    await writeFile(join(old, 'a.txt'), '')
    expect(await pruneResults(old, { now: () => Date.now() + 1000 }, 60_000)).toBe(0)
    expect(await pruneResults(old, { now: () => Date.now() + 61_000 }, 60_000)).toBe(1)
    expect(await pruneResults(join(old, 'nowhere'), systemHost(), 0)).toBe(0)
  })
})

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from '../../codebase.ts'
import { eventually, scratch } from '../../fixtures/test-folders.ts'
import { Encoder } from './encoder.ts'
import { exportOnnx } from './fixtures/export-onnx.ts'
import { OnnxEncoder } from './onnx.ts'
import { digestOf, readOnnxFolder } from './onnx-folder.ts'
import { bertUncased, Tokenizer } from './tokenizer.ts'
import { wordPieceRules } from './tokenizer-file.ts'
import { modelFolder, readModel } from './weights.ts'

const weights = modelFolder()
const TEXTS = [
  'This is an example sentence',
  'parse the configuration file and return its entries',
  'getHTTPResponse(url: string): Promise<Response> { return fetch(url) }',
  'Straße, café, 漢字 and €5 — naïve “quotes” x_y $z',
  '',
  'word '.repeat(400),
]

describe.skipIf(weights === undefined)('a model in a folder', () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'plugboard-onnx-'))
    exportOnnx(weights ?? '', folder)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('is read in the layout of sentence-transformers', () => {
    expect(readOnnxFolder(folder)).toMatchObject({
      graph: join(folder, 'onnx', 'model.onnx'),
      dimensions: 384,
      pooling: 'mean',
      maxTokens: 256,
      queryPrefix: '',
    })
  })

  it('has its own tokenizer, which cuts as the built-in one does', () => {
    const path = join(folder, 'tokenizer.json')
    const theirs = new Tokenizer(wordPieceRules(readFileSync(path, 'utf8'), path))
    const ours = new Tokenizer(bertUncased(readModel(weights ?? '').vocabulary))
    for (const text of TEXTS) expect(theirs.encode(text, 128)).toEqual(ours.encode(text, 128))
    expect(theirs.encode('漢字', 10)).toHaveLength(4)
  })

  it('has a name that changes with any file the vectors depend on', async () => {
    const before = await digestOf(folder, readOnnxFolder(folder))
    expect(await digestOf(folder, readOnnxFolder(folder))).toBe(before)
    const config = join(folder, '1_Pooling', 'config.json')
    const text = readFileSync(config, 'utf8')
    writeFileSync(config, text.replace('pooling_mode_mean_tokens', 'pooling_mode_cls_token'))
    expect(readOnnxFolder(folder).pooling).toBe('cls')
    expect(await digestOf(folder, readOnnxFolder(folder))).not.toBe(before)
    writeFileSync(config, text)
  })

  it('says which package to install when ONNX Runtime is missing', async () => {
    await expect(OnnxEncoder.open(readOnnxFolder(folder), folder)).rejects.toMatchObject({
      code: 'BAD_INPUT',
      message: expect.stringContaining('npm install onnxruntime-web'),
    })
  })

  describe.skipIf(!process.env['PLUGBOARD_LONG'])('in ONNX Runtime', () => {
    let runtime: string
    beforeAll(async () => {
      const { onDemand } = (await import('../../../../../scripts/lib/on-demand.mjs' as string)) as {
        onDemand: (name: string, packages: string[]) => string
      }
      runtime = onDemand('onnx', ['onnxruntime-web@1.30.0'])
    }, 600_000)

    it('gives the vectors of our own encoder to a thousandth', async () => {
      const encoder = await OnnxEncoder.open(readOnnxFolder(folder), runtime)
      const ours = new Encoder(readModel(weights ?? ''))
      for (const text of TEXTS) {
        const [a, b] = [await encoder.embed(text, 'chunk', 128), ours.embed(text, 128)]
        const furthest = a.reduce((most, value, n) => Math.max(most, Math.abs(value - (b[n] ?? 9))), 0)
        expect(furthest, text.slice(0, 40)).toBeLessThan(1e-3)
      }
    }, 60_000)

    it('searches a folder from the worker thread', async () => {
      const tree = scratch({
        'auth.py': 'def verify_password(user, secret):\n    return hash(secret) == user.digest\n',
        'net.py': 'def open_socket(host, port):\n    return connect((host, port))\n',
      })
      const cache = scratch()
      const code = new Codebase({
        root: tree.folder,
        cacheDir: cache.folder,
        embeddings: { kind: 'onnx', folder, runtime },
      })
      try {
        code.warmUp()
        await eventually(
          async () => (await code.status()).meaning.chunks_with_vectors === 2,
          'vectors',
          50_000,
        )
        const query = 'credential checking at login'
        const { results, model } = await code.semanticSearch({
          query,
          mode: 'vector',
          language: undefined,
          path: undefined,
          maxResults: 2,
        })
        expect(model).toContain('ONNX')
        expect(results[0]).toMatchObject({ file_path: 'auth.py' })
      } finally {
        await code.close()
        tree.remove()
        cache.remove()
      }
    }, 60_000)
  })

  it('costs its half of a result when it cannot be used, and every result says why', async () => {
    const tree = scratch({ 'net.py': 'def open_socket(host, port):\n    return connect((host, port))\n' })
    const cache = scratch()
    for (const [model, reason] of [
      [join(folder, 'onnx'), 'tokenizer.json'],
      [folder, 'npm install onnxruntime-web'],
    ] as const) {
      const code = new Codebase({
        root: tree.folder,
        cacheDir: cache.folder,
        embeddings: { kind: 'onnx', folder: model, runtime: folder },
      })
      try {
        code.warmUp()
        await eventually(async () => {
          const { meaning } = await code.status()
          return !meaning.working && meaning.files_indexed === 1
        }, 'the words')
        const answer = await code.semanticSearch({
          query: 'socket',
          mode: 'hybrid',
          language: undefined,
          path: undefined,
          maxResults: 2,
        })
        expect(answer).toMatchObject({ mode: 'text', results: [{ file_path: 'net.py' }] })
        expect(answer.notes.join(' ')).toContain(reason)
      } finally {
        await code.close()
      }
    }
    tree.remove()
    cache.remove()
  })
})

describe('a folder that is no model', () => {
  let folder: string
  const write = (name: string, text: string) => {
    mkdirSync(join(folder, name, '..'), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const problem = () => {
    try {
      readOnnxFolder(folder)
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'plugboard-onnx-'))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('is refused for what it lacks, one thing after the other', () => {
    expect(problem()).toContain('has none of model.onnx')
    write('model_quantized.onnx', 'x')
    expect(problem()).toContain('no tokenizer.json')
    write('tokenizer.json', '{}')
    expect(problem()).toContain('how many numbers')
    write('config.json', '{"hidden_size": 1e9}')
    expect(problem()).toContain('how many numbers')
    write('config.json', 'null')
    expect(problem()).toContain('how many numbers')
    write('config.json', '{')
    expect(problem()).toContain('not JSON')
    write('config.json', '{"hidden_size": 32}')
    expect(problem()).toBeUndefined()
    write('1_Pooling/config.json', '{"pooling_mode_max_tokens": true}')
    expect(problem()).toContain('pooling_mode_max_tokens')
    write('1_Pooling/config.json', '{"pooling_mode_cls_token": true}')
    write('modules.json', '[{"type": "sentence_transformers.models.Dense"}]')
    expect(problem()).toContain('Dense')
    write('modules.json', '[]')
    write('config_sentence_transformers.json', '{"prompts": {"query": "query: ", "passage": "passage: "}}')
    expect(readOnnxFolder(folder)).toMatchObject({
      queryPrefix: 'query: ',
      chunkPrefix: 'passage: ',
      pooling: 'cls',
    })
  })

  it.each([
    ['{', 'not JSON'],
    ['{}', 'nameless'],
    ['{"model":{"type":"BPE","vocab":{}}}', 'BPE'],
    ['{"model":{"type":"Unigram","vocab":[]}}', 'Unigram'],
    ['{"model":{"type":"WordPiece","vocab":{"[UNK]":0}}}', 'normalizer none'],
    [
      '{"model":{"type":"WordPiece","vocab":{"a":0}},"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"}}',
      'unknown token',
    ],
  ])('is refused for a tokenizer that cannot be followed: %s', (json, reason) => {
    expect(() => wordPieceRules(json, 'tokenizer.json')).toThrow(reason)
  })
})

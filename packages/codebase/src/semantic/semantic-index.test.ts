import { rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch } from '../fixtures/test-folders.ts'
import type { CodebaseOptions } from '../types.ts'
import { modelFolder } from './model/weights.ts'
import { stem, termsOf } from './terms.ts'

const ask = (query: string, extra: object = {}) => ({
  query,
  mode: 'hybrid' as const,
  language: undefined,
  path: undefined,
  maxResults: 5,
  ...extra,
})

const pad = '  // filler so that this function stands alone in a chunk of its own\n'.repeat(4)

const FILES = {
  'src/net.ts': `export function openSocket(host: string) {\n${pad}  return connect(host)\n}\n\nexport function closeSocket() {\n${pad}  return end()\n}\n`,
  'src/auth.py': `def verify_password(user, secret):\n${pad.replaceAll('//', '#').replaceAll('  #', '    #')}    return hash(secret) == user.digest\n`,
  'docs/guide.md': `# Deploying\n\n${'Ship the container to production with one command. '.repeat(8)}\n`,
}

describe('semantic search', () => {
  let tree: Scratch
  let cache: Scratch
  let code: Codebase
  const open = (extra: Partial<CodebaseOptions> = {}) =>
    new Codebase({ root: tree.folder, cacheDir: cache.folder, ...extra })
  const whole = () =>
    eventually(async () => {
      const { meaning } = await code.status()
      return !meaning.working && meaning.files_indexed === meaning.files && meaning.files > 0
    }, 'the meaning index')

  beforeEach(() => {
    tree = scratch(FILES)
    cache = scratch()
    code = open()
  })
  afterEach(async () => {
    await code.close()
    tree.remove()
    cache.remove()
  })

  it('answers by words at once, before anything is indexed, and says that it did', async () => {
    const answer = await code.semanticSearch(ask('verify the password of a user'))
    expect(answer.mode).toBe('text')
    expect(answer.results[0]).toMatchObject({ file_path: 'src/auth.py', name: 'verify_password' })
    expect(answer.notes.join()).toContain('Nothing is indexed yet')
  })

  it.skipIf(modelFolder() === undefined)(
    'finds code that shares no word with the question, and reports its coverage',
    async () => {
      code.warmUp()
      await whole()
      const answer = await code.semanticSearch(ask('credential checking at login', { mode: 'vector' }))
      expect(answer.results[0]).toMatchObject({
        file_path: 'src/auth.py',
        language: 'python',
        kind: 'function',
      })
      const { coverage, model } = await code.semanticSearch(ask('socket'))
      expect(model).toContain('MiniLM')
      expect(coverage.chunks_with_vectors).toBe(coverage.chunks)
    },
  )

  it('filters by language and folder, ranks by words alone when told to', async () => {
    code.warmUp()
    await whole()
    for (const mode of ['text', 'hybrid'] as const) {
      const python = await code.semanticSearch(ask('password container socket', { mode, language: 'python' }))
      expect(new Set(python.results.map(({ language }) => language))).toEqual(new Set(['python']))
      const docs = await code.semanticSearch(ask('password container socket', { mode, path: 'docs' }))
      expect(new Set(docs.results.map(({ file_path }) => file_path))).toEqual(new Set(['docs/guide.md']))
    }
    const { results, notes } = await code.semanticSearch(ask('password', { language: 'py' }))
    expect(results).toEqual([])
    expect(notes.join()).toMatch(/No language goes by the name "py" here; there are .*python/)
    await expect(code.semanticSearch(ask('x', { path: '../' }))).rejects.toMatchObject({
      code: 'OUTSIDE_ROOT',
    })
  })

  it('never returns what is no longer in the file, and takes changes in', async () => {
    code.warmUp()
    await whole()
    tree.write('src/auth.py', 'def nothing():\n    return None\n')
    rmSync(join(tree.folder, 'docs'), { recursive: true })
    const stale = await code.semanticSearch(ask('verify_password', { mode: 'text' }))
    expect(stale.results.map(({ file_path }) => file_path)).not.toContain('src/auth.py')
    tree.write('src/later.ts', `export function renewCertificate() {\n${pad}}\n`)
    await code.reindex()
    const fresh = await code.semanticSearch(ask('renewCertificate'))
    expect(fresh.results[0]).toMatchObject({ file_path: 'src/later.ts', name: 'renewCertificate' })
  })

  it('finds what is in a line longer than a chunk, search after search', async () => {
    tree.write('data.json', JSON.stringify(Array.from({ length: 1200 }, (_, n) => `zebra${n}`)))
    tree.write(
      'app.js',
      `var list=[${'"filler",'.repeat(900)}0]\nfunction paintGiraffe() {\n  return list\n}\n`,
    )
    code.warmUp()
    await whole()
    for (let round = 0; round < 3; round++)
      for (const [query, path] of [
        ['zebra700', 'data.json'],
        ['paintGiraffe', 'app.js'],
      ] as const) {
        const { results, coverage } = await code.semanticSearch(ask(query))
        expect(results[0]).toMatchObject({ file_path: path, text: expect.stringContaining(query) })
        expect(coverage).toMatchObject({ files: 5, files_indexed: 5 })
      }
  })

  it('keeps its work across a restart', async () => {
    code.warmUp()
    await whole()
    const before = (await code.status()).meaning
    await code.close()
    code = open()
    expect((await code.status()).meaning).toMatchObject({
      chunks: before.chunks,
      chunks_with_vectors: before.chunks_with_vectors,
    })
    const answer = await code.semanticSearch(ask('openSocket'))
    expect(answer.results[0]).toMatchObject({
      file_path: 'src/net.ts',
      name: expect.stringContaining('openSocket'),
    })
  })

  it('asks the model again only about chunks that changed', async () => {
    const asked: string[] = []
    const endpoint = createServer((req, res) => {
      let body = ''
      req.on('data', (piece) => {
        body += piece
      })
      req.on('end', () => {
        const { input } = JSON.parse(body) as { input: string[] }
        asked.push(...input)
        res.end(JSON.stringify({ data: input.map((_, index) => ({ index, embedding: [1, 0] })) }))
      })
    })
    await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`
    const embeddings = { kind: 'endpoint', url, model: 'tiny', dimensions: 2 } as const
    await code.close()
    code = open({ embeddings })
    code.warmUp()
    await whole()
    expect(asked.length).toBeGreaterThanOrEqual(3)
    asked.length = 0
    await code.close()
    // Every file is touched, one of them changes.
    for (const [path, text] of Object.entries(FILES))
      tree.write(path, text.replace('hash(secret)', 'digestOf(secret)'))
    code = open({ embeddings })
    code.warmUp()
    await whole()
    expect(asked).toEqual([expect.stringContaining('digest Of')])
    endpoint.close()
  })

  it('works by words when there is no model, and says that', async () => {
    await code.close()
    code = open({ embeddings: { kind: 'none' } })
    code.warmUp()
    await whole()
    const answer = await code.semanticSearch(ask('openSocket'))
    expect(answer).toMatchObject({ mode: 'text', model: null })
    expect(answer.results[0]).toMatchObject({ file_path: 'src/net.ts' })
    expect(answer.notes.join()).toContain('No model')
  })

  it('lives in memory where nothing can be written, and says so', async () => {
    await code.close()
    cache.write('file', 'in the way')
    code = open({ cacheDir: join(cache.folder, 'file', 'below') })
    code.warmUp()
    await whole()
    const answer = await code.semanticSearch(ask('openSocket'))
    expect(answer.results[0]).toMatchObject({ file_path: 'src/net.ts' })
    expect(answer.coverage.chunks_with_vectors).toBe(modelFolder() ? answer.coverage.chunks : 0)
    expect(answer.notes.join()).toMatch(/in memory only: .*(ENOTDIR|EEXIST)/)
  })

  it('uses an OpenAI-compatible endpoint when given one, and survives its failure', async () => {
    let isBroken = false
    const endpoint = createServer((req, res) => {
      let body = ''
      req.on('data', (piece) => {
        body += piece
      })
      req.on('end', () => {
        if (isBroken) return void res.writeHead(500).end()
        const { input } = JSON.parse(body) as { input: string[] }
        // The simplest possible model: does the text mention passwords?
        const data = input.map((text, index) => ({
          index,
          embedding: /password|secret/.test(text) ? [1, 0.1] : [0.1, 1],
        }))
        res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ data }))
      })
    })
    await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`
    await code.close()
    code = open({ embeddings: { kind: 'endpoint', url, model: 'tiny', dimensions: 2 } })
    code.warmUp()
    await whole()
    const answer = await code.semanticSearch(ask('secret', { mode: 'vector' }))
    expect(answer.results[0]).toMatchObject({ file_path: 'src/auth.py' })
    isBroken = true
    const without = await code.semanticSearch(ask('openSocket'))
    expect(without.mode).toBe('text')
    expect(without.results[0]).toMatchObject({ file_path: 'src/net.ts' })
    expect(without.notes.join()).toContain('could not be asked')
    endpoint.close()
  })
})

describe('words', () => {
  it('are the parts of identifiers, stemmed, and the whole', () => {
    expect(termsOf('getHTTPResponse max_retry_count')).toEqual([
      'get',
      'http',
      'respons',
      'gethttpresponse',
      'max',
      'retri',
      'count',
      'maxretrycount',
    ])
  })
  it('match in their near forms', () => {
    expect(new Set(['connect', 'connects', 'connected', 'connecting', 'connection'].map(stem)).size).toBe(1)
    expect(stem('class')).toBe('class')
  })
})

// `npm run bench -- codebase [--text [--growth]] [--meaning] [--quick] [--markdown]`: search_code against ripgrep on a tree of more than 100,000 files,
// and search_by_embedding on documented functions of six languages. Every figure is a ratio or a rank taken in this one run.
// PLUGBOARD_BENCH_DIR keeps the trees and indexes; PLUGBOARD_BENCH_BYTES is how much source of each repository is asked about,
// PLUGBOARD_BENCH_ONLY which repositories.
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Codebase } from '../packages/codebase/dist/codebase.js'
import { FolderStore } from '../packages/codebase/dist/index/folder-store.js'
import { MODEL } from '../packages/codebase/dist/semantic/model/weights.js'
import { packVector, unit } from '../packages/codebase/dist/semantic/vectors.js'
import { benchDir, documentedFunctions, REPOSITORIES } from './codebase-corpora.mjs'
import { coverageScores, ON_DEMAND, SHARES } from './codebase-coverage.mjs'
import { benchText } from './codebase-text.mjs'
import { answered, median, ms, seeded, until } from './lib/measure.mjs'
import { report } from './lib/report.mjs'

const flags = new Set(process.argv.slice(2))
const wants = (part) => flags.has(part) || (!flags.has('--text') && !flags.has('--meaning'))
const rows = []
const row = (what, value, goal, met, contest) =>
  rows.push({ what, value: String(value), goal, met, ...(contest && { contest }) })
const against = (unit, better, of) => ({ unit, better, of })

const MODES = ['text', 'vector', 'hybrid']

/** Embeds what is not embedded yet; chunks a second of this run, when it made enough of them to say. */
async function embedAll(code) {
  const start = performance.now()
  const before = (await code.status()).meaning.chunks_with_vectors
  code.warmUp()
  await until(async () => {
    const { meaning } = await code.status()
    if (meaning.model === null)
      throw new Error('the model is not installed (optional dependency), so there is nothing to compare')
    return !meaning.working && meaning.chunks > 0 && meaning.chunks_with_vectors >= meaning.chunks
  }, 'embedding')
  const { chunks } = (await code.status()).meaning
  const made = chunks - before
  return { chunks, perSecond: made > 200 ? made / ((performance.now() - start) / 1000) : undefined }
}

async function scoreQueries(code, pairs) {
  const score = Object.fromEntries(MODES.map((mode) => [mode, { mrr: 0, recall: 0 }]))
  for (const { query, file, line } of pairs)
    for (const mode of MODES) {
      const { results } = await code.semanticSearch({
        query,
        mode,
        language: undefined,
        path: undefined,
        maxResults: 10,
      })
      const place = results.findIndex(
        (hit) => hit.file_path === file && hit.start_line <= line && hit.end_line >= line,
      )
      if (place < 0) continue
      score[mode].mrr += 1 / (place + 1) / pairs.length
      score[mode].recall += 1 / pairs.length
    }
  return score
}

async function benchMeaning() {
  const bytes = Number(process.env.PLUGBOARD_BENCH_BYTES) || 1_000_000
  const only = process.env.PLUGBOARD_BENCH_ONLY?.split(',')
  const threads = 3
  for (const repository of REPOSITORIES.filter(({ name }) => !only || only.includes(name))) {
    let corpus
    try {
      corpus = documentedFunctions(repository, { queries: 500, bytes })
    } catch (error) {
      console.error(`${repository.name} could not be fetched, so it is left out: ${error.message}`)
      continue
    }
    const code = new Codebase({ root: corpus.folder, cacheDir: join(benchDir, 'meaning-cache'), threads })
    try {
      const { chunks, perSecond } = await embedAll(code)
      const score = await scoreQueries(code, corpus.pairs)
      const show = ({ mrr, recall }) => `${mrr.toFixed(3)} (${recall.toFixed(3)})`
      const kind = repository.tuned ? 'tuned on' : 'held out'
      row(
        `${repository.name}, ${repository.language}, ${kind}, ${chunks} chunks, ${corpus.pairs.length} queries: MRR@10 (recall@10) BM25 · vectors · hybrid`,
        MODES.map((mode) => show(score[mode])).join(' · '),
        '',
        undefined,
      )
      const gain = score.hybrid.mrr / score.text.mrr
      row(
        `${repository.name}, ${kind}: hybrid ÷ BM25`,
        gain.toFixed(3),
        'at least 1.10',
        gain >= 1.1,
        against('MRR', 'more', { Plugboard: score.hybrid.mrr, BM25: score.text.mrr }),
      )
      if (perSecond !== undefined)
        row(
          `${repository.name}: embedded, ${threads - 1} threads`,
          `${perSecond.toFixed(1)} chunks/s`,
          '',
          undefined,
        )
    } finally {
      await code.close()
    }
    await benchCoverage(repository, corpus)
  }
  await queryTime()
}

/** The same questions while the tree is being embedded. */
async function benchCoverage({ name }, { folder, pairs }) {
  const { words, table } = await coverageScores({ folder, pairs, cacheDir: join(benchDir, 'meaning-cache') })
  const percents = SHARES.map((share) => `${share * 100} %`).join(' · ')
  for (const { onDemand, scores } of table)
    row(
      `${name}: hybrid MRR@10 with ${percents} of the vectors, ${onDemand} made for the question`,
      scores.map((score) => score.toFixed(3)).join(' · '),
      `at least BM25: ${words.toFixed(3)}`,
      onDemand === ON_DEMAND.at(-1) ? scores.every((score) => score >= words) : undefined,
    )
}

/**
 * How long a question takes among 20,000 chunks. Embedding that many would take an hour, so their vectors are drawn with a
 * fixed seed; the question's own vector, both rankings and the reading of the results are the real ones.
 */
async function queryTime() {
  const wanted = 20_000
  const source = documentedFunctions(
    { ...REPOSITORIES.find(({ name }) => name === 'go'), folder: 'large' },
    { queries: 100, bytes: 19_500_000 },
  )
  const cacheDir = join(benchDir, 'query-cache')
  const build = new Codebase({ root: source.folder, cacheDir, threads: 2, embeddings: { kind: 'none' } })
  build.warmUp()
  await until(async () => {
    const { meaning } = await build.status()
    return !meaning.working && meaning.chunks > 0 && meaning.files_indexed >= meaning.files
  }, 'chunking')
  const { meaning } = await build.status()
  await build.close()
  await giveVectors(cacheDir, source.folder)
  const code = new Codebase({ root: source.folder, cacheDir, threads: 2 })
  try {
    const ask = (query) =>
      code.semanticSearch({ query, mode: 'hybrid', language: undefined, path: undefined, maxResults: 10 })
    await ask('warm up')
    const times = []
    for (const { query } of source.pairs) {
      const answer = await answered(() => ask(query))
      if (answer.value.mode !== 'hybrid')
        throw new Error(`not a hybrid answer: ${answer.value.notes.join(' ')}`)
      times.push(answer.ms)
    }
    row(
      `query among ${meaning.chunks.toLocaleString('en')} chunks, p50 of ${times.length}`,
      ms(median(times)),
      `under 60 ms at ${wanted.toLocaleString('en')}`,
      meaning.chunks >= wanted * 0.9 ? median(times) < 60 : undefined,
    )
  } finally {
    await code.close()
  }
}

/** Vectors from a seed for every chunk of an index that has none, which from then on counts as the built-in model's. */
async function giveVectors(cacheDir, root) {
  const store = new FolderStore(cacheDir, realpathSync(root))
  if (!store.tryLock()) throw new Error('the index is still being written')
  const bare = store.chunks({ id: null, dimensions: 0 })
  const embedded = store.chunks({ id: MODEL.name, dimensions: MODEL.dimensions })
  const random = seeded(11)
  const vector = () => unit(Float32Array.from({ length: MODEL.dimensions }, () => random() - 0.5))
  for (const { name, chunks } of bare.segments())
    await embedded.addVectors(name, Buffer.concat(Array.from({ length: chunks }, () => packVector(vector()))))
  await embedded.commit(bare.segments().map(({ name }) => name))
  bare.close()
  store.close()
}

mkdirSync(benchDir, { recursive: true })
for (const [part, work] of [
  ['--meaning', benchMeaning],
  ['--text', () => benchText({ row, flags })],
]) {
  if (!wants(part)) continue
  try {
    await work()
  } catch (error) {
    console.error(`${part.slice(2)}: not measured. ${error.message}`)
    process.exitCode = 1
  }
}
report('codebase', 'Searching code: by text against ripgrep, by meaning against BM25', rows, [
  'The tree is made of Debian source packages, the repositories come from npm and Debian; docs/codebase-search.md has the method, with fixed seeds.',
  'No choice of the ranking was made by the figures of a held-out repository. Ratios are of one run; a shared machine, so single figures swing.',
])

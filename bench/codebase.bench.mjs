// `npm run bench -- codebase [--text [--growth]] [--meaning] [--quick] [--markdown]`: search_code against ripgrep on a tree of more than 100,000 files,
// and search_by_embedding on documented functions of six languages. Every figure is a ratio or a rank taken in this one run.
// PLUGBOARD_BENCH_DIR keeps the trees and indexes; PLUGBOARD_BENCH_BYTES is how much source of each repository is asked about,
// PLUGBOARD_BENCH_ONLY which repositories.
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { Codebase } from '../packages/codebase/dist/codebase.js'
import { FolderStore } from '../packages/codebase/dist/index/folder-store.js'
import { MODEL } from '../packages/codebase/dist/meaning/model/weights.js'
import { packVector, unit } from '../packages/codebase/dist/meaning/vectors.js'
import { benchDir, documentedFunctions, largeTree, REPOSITORIES } from './codebase-corpora.mjs'
import { report } from './lib/report.mjs'

const flags = new Set(process.argv.slice(2))
const wants = (part) => flags.has(part) || (!flags.has('--text') && !flags.has('--meaning'))
const rows = []
const row = (what, value, goal, met, contest) =>
  rows.push({ what, value: String(value), goal, met, ...(contest && { contest }) })
const against = (unit, better, of) => ({ unit, better, of })

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN
const plain = {
  regex: false,
  caseSensitive: true,
  glob: [],
  path: undefined,
  contextLines: 0,
  maxResults: 10_000,
}
const spread = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b)
  return [sorted[0], median(sorted), sorted.at(-1)].map((value) => value.toFixed(2)).join(' · ')
}
const ms = (value) => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`

/** A generator with a fixed seed: the same queries in every run. */
function seeded(seed) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function ripgrepMs(root, args) {
  const start = performance.now()
  const done = spawnSync(rgPath, ['--no-config', '-n', ...args, './'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  return { ms: performance.now() - start, hits: done.stdout.toString('latin1').split('\n').length - 1 }
}

async function until(check, what, limitMs = 3_600_000) {
  const end = Date.now() + limitMs
  for (;;) {
    if (await check()) return
    if (Date.now() > end) throw new Error(`${what} took too long`)
    await new Promise((done) => setTimeout(done, 100))
  }
}

async function timed(work) {
  const start = performance.now()
  const value = await work()
  return { ms: performance.now() - start, value }
}

/** Identifiers of four characters or more with 1 to 199 hits, from files picked at random. */
async function wordsOf(code, root, files, count) {
  const random = seeded(7)
  const words = new Set()
  for (let tries = 0; words.size < count && tries < count * 40; tries++) {
    const text = readFileSync(join(root, files[Math.floor(random() * files.length)]), 'latin1')
    const found = text.match(/[A-Za-z_][A-Za-z0-9_]{3,30}/g)
    const word = found?.[Math.floor(random() * found.length)]
    if (word === undefined || words.has(word)) continue
    const hits = (await code.searchCode({ ...plain, query: word, maxResults: 200 })).matches.length
    if (hits > 0 && hits < 200) words.add(word)
  }
  return [...words]
}

/** Queries the index helps little with. ripgrep prints every line of a frequent one; ours ends at 10,000, as an answer does. */
const OTHER = [
  [
    'no word in the pattern',
    true,
    ['[a-z]{3}_[0-9]{5}x', '\\b[A-Z]{2}[0-9]{7}\\b', '[0-9]{4}-[0-9]{2}-3[2-9]', '\\d{3}-\\d{4}', '^.{300}$'],
  ],
  ['two letters', false, ['zq', 'Qj', 'xZ']],
  ['frequent', false, ['return', 'int', 'the']],
]

async function measureQueries(code, root, files, count) {
  const ratios = { literal: [], none: [], regex: [], other: [] }
  const times = { literal: [], none: [], rg: [] }
  const others = Object.fromEntries(OTHER.map(([kind]) => [kind, []]))
  for (const word of await wordsOf(code, root, files, count)) {
    const rg = ripgrepMs(root, ['-F', '-e', word])
    times.rg.push(rg.ms)
    const ours = await timed(() => code.searchCode({ ...plain, query: word }))
    if (ours.value.matches.length !== rg.hits)
      throw new Error(`${word}: ${ours.value.matches.length} lines, ripgrep has ${rg.hits}`)
    ratios.literal.push(ours.ms / rg.ms)
    times.literal.push(ours.ms)
  }
  for (let n = 0; n < 10; n++) {
    const word = `zq${n}xv_no_such_name`
    const rg = ripgrepMs(root, ['-F', '-e', word])
    const ours = await timed(() => code.searchCode({ ...plain, query: word }))
    ratios.none.push(ours.ms / rg.ms)
    times.none.push(ours.ms)
  }
  for (const query of [
    'sched_[a-z]+_balance',
    'kmalloc\\(sizeof\\(\\w+\\)',
    'static\\s+int\\s+__init\\s+acpi_\\w+',
    'tree_[a-z]+_hash',
    'EXPORT_SYMBOL_GPL\\(usb_[a-z]+\\)',
  ]) {
    const rg = ripgrepMs(root, ['-e', query])
    ratios.regex.push((await timed(() => code.searchCode({ ...plain, query, regex: true }))).ms / rg.ms)
  }
  for (const [kind, regex, queries] of OTHER)
    for (const query of queries) {
      const rg = ripgrepMs(root, [...(regex ? [] : ['-F']), '-e', query])
      const ours = await timed(() => code.searchCode({ ...plain, query, regex }))
      const { truncated, matches } = ours.value
      if (truncated ? rg.hits <= plain.maxResults : rg.hits !== matches.length)
        throw new Error(`${query}: ${matches.length} lines, ripgrep has ${rg.hits}`)
      ratios.other.push(ours.ms / rg.ms)
      others[kind].push(ours.ms / rg.ms)
    }
  return { ratios, times, others }
}

async function benchText() {
  const root = largeTree()
  if (flags.has('--growth')) return growth(root)
  const cacheDir = join(benchDir, 'text-cache')
  rmSync(cacheDir, { recursive: true, force: true })
  ripgrepMs(root, ['-F', '-e', 'zqxv_warm_up'])
  const scan = median([1, 2, 3].map(() => ripgrepMs(root, ['-F', '-e', 'zqxv_no_such_name']).ms))
  const memory = await indexInOwnProcess(root, cacheDir)
  row('files in the tree', memory.files, 'at least 100,000', memory.files >= 100_000)
  row('one ripgrep scan without a match', ms(scan), '', undefined)
  row('first index ÷ one scan', (memory.buildMs / scan).toFixed(2), 'at most 6', memory.buildMs <= 6 * scan)
  row(
    'index ÷ text',
    (memory.indexBytes / memory.textBytes).toFixed(3),
    'at most 0.4',
    memory.indexBytes <= 0.4 * memory.textBytes,
  )
  row(
    'memory while indexing',
    `${memory.peakMb} MB`,
    `under 600 MB (${(memory.textBytes / 1e9).toFixed(1)} GB of text)`,
    memory.peakMb < 600,
  )
  row('memory when idle, the whole tree', `${memory.idleMb} MB`, '', undefined)
  const code = new Codebase({ root, cacheDir, embeddings: { kind: 'none' } })
  try {
    await code.searchCode({ ...plain, query: 'warm' })
    await until(async () => (await code.status()).text.state === 'ready', 'opening the index')
    const files = await code.files()
    const { ratios, others, times } = await measureQueries(code, root, files, flags.has('--quick') ? 25 : 50)
    const beside = (found) => against('ms', 'less', { Plugboard: median(found), ripgrep: median(times.rg) })
    row(
      `literal, under 200 hits ÷ ripgrep, p50 of ${ratios.literal.length}`,
      median(ratios.literal).toFixed(3),
      'at most 0.05',
      median(ratios.literal) <= 0.05,
      beside(times.literal),
    )
    row(
      'no match ÷ ripgrep, p50',
      median(ratios.none).toFixed(4),
      'at most 0.01',
      median(ratios.none) <= 0.01,
      beside(times.none),
    )
    row(
      'regex with a literal ÷ ripgrep, p50',
      median(ratios.regex).toFixed(3),
      'at most 0.25',
      median(ratios.regex) <= 0.25,
    )
    row(
      `any other query ÷ ripgrep, p50 of ${ratios.other.length}`,
      median(ratios.other).toFixed(2),
      'at most 1.0',
      median(ratios.other) <= 1,
    )
    for (const [kind] of OTHER) row(`— ${kind}: least · p50 · most`, spread(others[kind]), '', undefined)
    const { first, usual } = await reindexCpu(code, root, files)
    row(
      're-index after one changed file, CPU: first · p50 of 5',
      `${ms(first)} · ${ms(usual)}`,
      'under 50 ms',
      usual < 50,
    )
  } finally {
    await code.close()
  }
  if (!flags.has('--quick')) await growth(root)
}

/** CPU of the whole process from the change until the index is settled again, less what the same wait costs without one. */
async function reindexCpu(code, root, files) {
  const path = join(
    root,
    files.find((file) => file.endsWith('.c')),
  )
  const before = readFileSync(path)
  const cost = async (change) => {
    const start = process.cpuUsage()
    change()
    await code.searchCode({ ...plain, query: 'zqxv_no_such_name' })
    await new Promise((done) => setTimeout(done, 900))
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1000
  }
  const rounds = []
  for (let round = 0; round < 5; round++) {
    const idle = await cost(() => undefined)
    const changed = await cost(() => appendFileSync(path, '\n'))
    rounds.push(Math.max(0, changed - idle))
  }
  writeFileSync(path, before)
  return { first: rounds[0], usual: median(rounds) }
}

/** Builds the index in a process of its own, so that its memory is its own. */
async function indexInOwnProcess(root, cacheDir) {
  const script = `
    import { Codebase } from ${JSON.stringify(new URL('../packages/codebase/dist/codebase.js', import.meta.url).href)}
    const code = new Codebase({ root: ${JSON.stringify(root)}, cacheDir: ${JSON.stringify(cacheDir)}, embeddings: { kind: 'none' },
      onProgress: (phase) => { if (phase.kind === 'building' && phase.done === 0) start ??= performance.now() } })
    let start, peak = 0, built
    const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage.rss()) }, 20)
    const began = performance.now()
    await code.searchCode({ query: 'zqxv', regex: false, caseSensitive: true, glob: [], path: undefined, contextLines: 0, maxResults: 1 })
    for (;;) {
      const { text } = await code.status()
      if (text.files > 0 && built === undefined) built = performance.now()
      if (text.state === 'ready' || text.state === 'failed' || text.state === 'off') break
      await new Promise((done) => setTimeout(done, 20))
    }
    clearInterval(watch)
    await new Promise((done) => setTimeout(done, 5000))
    const { text } = await code.status()
    process.stdout.write(JSON.stringify({ files: text.files, textBytes: text.textBytes, indexBytes: text.indexBytes,
      buildMs: built - (start ?? began), peakMb: Math.round(peak / 1e6), idleMb: Math.round(process.memoryUsage.rss() / 1e6) }))
    await code.close()
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (piece) => {
    out += piece
  })
  await new Promise((done) => child.on('close', done))
  return JSON.parse(out)
}

/** A part of the large tree, evenly spread over it. */
async function partOf(root, size) {
  const folder = join(benchDir, `part-${size}`)
  if (existsSync(folder)) return folder
  const lister = new Codebase({ root, index: false })
  const all = (await lister.files()).sort()
  await lister.close()
  const draft = `${folder}.draft`
  rmSync(draft, { recursive: true, force: true })
  for (let n = 0; n < size; n++) {
    const file = all[Math.floor((n * all.length) / size)]
    mkdirSync(dirname(join(draft, file)), { recursive: true })
    try {
      linkSync(join(root, file), join(draft, file))
    } catch {
      // A file system without links, or past their number: a copy does as well.
      cpSync(join(root, file), join(draft, file))
    }
  }
  renameSync(draft, folder)
  return folder
}

/** How both grow with the tree; the largest part is a tree of 1 GB, for which the goal of memory is given. */
async function growth(root) {
  const sizes = [5_000, 20_000, 50_000, 100_000]
  for (const size of sizes) {
    const folder = await partOf(root, size)
    const cacheDir = join(benchDir, `part-cache-${size}`)
    rmSync(cacheDir, { recursive: true, force: true })
    const scan = median([1, 2, 3].map(() => ripgrepMs(folder, ['-F', '-e', 'zqxv_no_such_name']).ms))
    const built = await indexInOwnProcess(folder, cacheDir)
    const label = `${size.toLocaleString('en')} files, ${(built.textBytes / 1e9).toFixed(2)} GB`
    row(`${label}: first index ÷ one scan`, (built.buildMs / scan).toFixed(2), '', undefined)
    const isLargest = size === sizes.at(-1)
    row(
      `${label}: memory when idle`,
      `${built.idleMb} MB`,
      isLargest ? 'under 250 MB' : '',
      isLargest ? built.idleMb < 250 : undefined,
    )
    const code = new Codebase({ root: folder, cacheDir, embeddings: { kind: 'none' } })
    try {
      await code.searchCode({ ...plain, query: 'warm' })
      await until(async () => (await code.status()).text.state === 'ready', 'opening the index')
      const { times } = await measureQueries(code, folder, await code.files(), 15)
      row(
        `${label}: literal · no match · ripgrep, p50`,
        `${ms(median(times.literal))} · ${ms(median(times.none))} · ${ms(median(times.rg))}`,
        '',
        undefined,
      )
    } finally {
      await code.close()
    }
  }
}

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
      const { results } = await code.searchByMeaning({
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
  }
  await queryTime()
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
      code.searchByMeaning({ query, mode: 'hybrid', language: undefined, path: undefined, maxResults: 10 })
    await ask('warm up')
    const times = []
    for (const { query } of source.pairs) {
      const answer = await timed(() => ask(query))
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
  ['--text', benchText],
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

// The text half of the codebase benchmark: search_code against ripgrep on a tree of more than 100,000 files,
// and how time and memory grow with the tree.
import { spawn, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { Codebase } from '../packages/codebase/dist/codebase.js'
import { benchDir, largeTree } from './codebase-corpora.mjs'
import { answered, median, ms, seeded, until } from './lib/measure.mjs'

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

function ripgrepMs(root, args) {
  const start = performance.now()
  const done = spawnSync(rgPath, ['--no-config', '-n', ...args, './'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  return { ms: performance.now() - start, hits: done.stdout.toString('latin1').split('\n').length - 1 }
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

/** Queries the index helps little with. ripgrep prints every line of a frequent one; ours ends at 10,000, the limit of a result. */
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
    const ours = await answered(() => code.searchCode({ ...plain, query: word }))
    if (ours.value.matches.length !== rg.hits)
      throw new Error(`${word}: ${ours.value.matches.length} lines, ripgrep has ${rg.hits}`)
    ratios.literal.push(ours.ms / rg.ms)
    times.literal.push(ours.ms)
  }
  for (let n = 0; n < 10; n++) {
    const word = `zq${n}xv_no_such_name`
    const rg = ripgrepMs(root, ['-F', '-e', word])
    const ours = await answered(() => code.searchCode({ ...plain, query: word }))
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
    ratios.regex.push((await answered(() => code.searchCode({ ...plain, query, regex: true }))).ms / rg.ms)
  }
  for (const [kind, regex, queries] of OTHER)
    for (const query of queries) {
      const rg = ripgrepMs(root, [...(regex ? [] : ['-F']), '-e', query])
      const ours = await answered(() => code.searchCode({ ...plain, query, regex }))
      const { truncated, matches } = ours.value
      if (truncated ? rg.hits <= plain.maxResults : rg.hits !== matches.length)
        throw new Error(`${query}: ${matches.length} lines, ripgrep has ${rg.hits}`)
      ratios.other.push(ours.ms / rg.ms)
      others[kind].push(ours.ms / rg.ms)
    }
  return { ratios, times, others }
}

export async function benchText({ row, flags }) {
  const root = largeTree()
  if (flags.has('--growth')) return growth(row, root)
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
    const beside = (found) => ({
      unit: 'ms',
      better: 'less',
      of: { Plugboard: median(found), ripgrep: median(times.rg) },
    })
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
  if (!flags.has('--quick')) await growth(row, root)
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
      // A file system without links, or past their limit: a copy is fine.
      cpSync(join(root, file), join(draft, file))
    }
  }
  renameSync(draft, folder)
  return folder
}

/** How both grow with the tree; the largest part is a tree of 1 GB, for which the goal of memory is given. */
async function growth(row, root) {
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

// edit-trials.mjs: tries many edits against test files that run in this project's own process (test/mutation/runner.ts).
// Each of them keeps a vitest and a folder: edits.json, wanted.json (what is still to try), out.jsonl (what happened).
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A test process that writes nothing for this long without an edit does not run at all. */
const START_MS = 90_000
/**
 * It writes every two seconds unless a test keeps it busy: one that is silent for longer, and for four times as long as ever
 * without an edit, is blocked by the edit that it tries.
 */
const SILENT_MS = 20_000
/** How often a test file is started again for edits that spoil or block its process. */
const MOST_STARTS = 200

export class EditTrials {
  #dir
  #folder
  #host

  /** `dir`: the tree with the tests. `mutants`: what may be tried, each with its `id` and `file`. */
  constructor(dir, mutants, folder) {
    this.#dir = dir
    this.#folder = folder
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'edits.json'), JSON.stringify(mutants))
  }

  /** Tries the edits `ids`; calls `onResult({ id, noticed, by })` for each that the test file reaches. */
  async try(test, ids, { onResult, onNote }) {
    let wanted = [...ids]
    const spoiling = new Set()
    for (let starts = 0; starts < MOST_STARTS && wanted.length > 0; starts++) {
      const { lines, blocked } = await this.#runOnce(test, wanted)
      const { results, spoiler } = resultsOf(lines, blocked, spoiling)
      for (const result of results) onResult(result)
      for (const note of notesOf(lines)) onNote(`${test}: ${note}`)
      const tried = new Set(results.map(({ id }) => id))
      const work = lines.find((line) => line.work)?.work
      if (!work) return onNote(`${test}: did not run${blocked ? ', blocked' : ''}`)
      const left = new Set(work.filter((id) => !tried.has(id)))
      if (lines.some(({ finished }) => finished) || left.size === 0) return
      if (spoiler !== undefined) spoiling.add(spoiler)
      else if (tried.size === 0)
        return onNote(`${test}: stopped without a result${blocked ? ', blocked' : ''}`)
      wanted = wanted.filter((id) => left.has(id))
    }
  }

  end() {
    const ended = this.#host
    this.#host = undefined
    try {
      if (ended) process.kill(-ended.child.pid, 'SIGKILL')
    } catch {}
  }

  /** Runs the test file once; ends with everything that it wrote. */
  async #runOnce(test, wanted) {
    const out = join(this.#folder, 'out.jsonl')
    writeFileSync(out, '')
    writeFileSync(join(this.#folder, 'wanted.json'), JSON.stringify(wanted))
    this.#host ??= this.#start()
    const host = this.#host
    await host.ready
    let blocked = false
    await new Promise((resolve) => {
      let last = { size: 0, at: Date.now() }
      let longest = 0
      let isTrying = false
      const watch = setInterval(() => {
        const text = readFileSync(out, 'utf8')
        const silence = Date.now() - last.at
        if (text.length !== last.size) {
          if (!isTrying) longest = Math.max(longest, silence)
          isTrying ||= text.includes('"begin"')
          last = { size: text.length, at: Date.now() }
        } else if (silence > (isTrying ? Math.max(SILENT_MS, 4 * longest) : START_MS)) {
          blocked = true
          this.end()
        }
      }, 1000)
      host.done = () => {
        clearInterval(watch)
        resolve()
      }
      host.child.send({ test })
    })
    const lines = readFileSync(out, 'utf8').split('\n').filter(Boolean)
    return { lines: lines.map((line) => JSON.parse(line)), blocked }
  }

  #start() {
    const own = { PLUGBOARD_TEST_BUILT: '1', PLUGBOARD_EDITS: this.#folder, NODE_ENV: 'test', VITEST: 'true' }
    const child = spawn(process.execPath, [join(this.#dir, 'scripts/lib/test-host.mjs')], {
      cwd: this.#dir,
      env: { ...process.env, ...own },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      detached: true,
    })
    const host = { child, done: () => {} }
    host.ready = new Promise((resolve) => {
      child.once('message', resolve)
      child.once('exit', resolve)
    })
    child.on('message', (message) => message.done && host.done())
    child.on('exit', () => {
      if (this.#host === host) this.#host = undefined
      host.done()
    })
    return host
  }
}

/** What is known after a run; `spoiler` is an edit that blocked, ended or spoiled its process: it counts the second time. */
function resultsOf(lines, blocked, spoiling) {
  const results = lines.filter(({ id }) => id !== undefined)
  const { begin, spoiled, by } = lines.findLast((line) => 'begin' in line || 'spoiled' in line) ?? {}
  const isOpen = begin !== undefined && !results.some(({ id }) => id === begin)
  const spoiler = spoiled ?? (isOpen ? begin : undefined)
  if (spoiler === undefined || !spoiling.has(spoiler)) return { results, spoiler }
  const why = by ?? (blocked ? 'blocked' : 'the test process ended')
  return { results: [...results, { id: spoiler, noticed: true, by: why }], spoiler }
}

function notesOf(lines) {
  return lines.flatMap(({ unsound, unsteady, trouble }) => {
    if (unsound !== undefined) return [`fails without an edit: ${unsound}`]
    if (unsteady !== undefined) return [`fails when it runs twice: ${unsteady}`]
    return trouble === undefined ? [] : [trouble]
  })
}

// Tries edits against one test file without starting it again: runs the file once with every switch off, notes which test
// reaches which edit, then runs for each edit only the tests that reach it, the quick ones first, until one fails. A failure
// counts when the same test passes again with the switch off, and one by time when it repeats with more time. What happens is appended to out.jsonl of the folder that
// PLUGBOARD_EDITS names, line by line, so that nothing is lost when an edit blocks the process.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type File, type Suite, startTests, type Test } from '@vitest/runner'
import { getNames, getTests } from '@vitest/runner/utils'
import { VitestTestRunner } from 'vitest/runners'
import { makeSwitches } from '../../scripts/lib/switches.mjs'

const folder = process.env['PLUGBOARD_EDITS'] ?? '.'
const edits = makeSwitches()
Object.assign(globalThis, { __edits: edits })
let escaped: unknown
for (const event of ['unhandledRejection', 'uncaughtException'])
  process.on(event, (error: unknown) => {
    escaped ??= error ?? 'an error'
  })

/** Tests that take longer are run after the others. */
const QUICK_MS = 100
/** A test that took too long gets this many times as long before that counts. */
const PATIENCE = 2
/** Beside a few times what the slowest test took without an edit. */
const TEST_MS = 1500
const HOOK_MS = 8000

interface Known {
  readonly at: number
  readonly ms: number
  readonly reached: ReadonlySet<number>
}
interface Ran {
  readonly failed?: Failed
}
interface Failed {
  readonly at: number | undefined
  readonly name: string
  /** It took too long, which a busy machine can cause as well. */
  readonly late: boolean
}

function write(line: object): void {
  appendFileSync(join(folder, 'out.jsonl'), `${JSON.stringify(line)}\n`)
}
// Ends with the test process; only what blocks its event loop silences it.
setInterval(() => write({ alive: true }), 2000).unref()

/** The first run: notes what is reached by importing, by hooks and by each test. */
export default class EditsRunner extends VitestTestRunner {
  readonly #known: Known[] = []
  readonly #begun = new Map<Test, number>()
  #imported = new Set<number>()
  #between = new Set<number>()

  override async importFile(...args: Parameters<VitestTestRunner['importFile']>): Promise<unknown> {
    edits.reached.clear()
    const imported = await super.importFile(...args)
    this.#imported = new Set(edits.reached)
    edits.reached.clear()
    return imported
  }

  override async onBeforeRunTask(test: Test): Promise<void> {
    await super.onBeforeRunTask(test)
    for (const id of edits.reached) this.#between.add(id)
    edits.reached.clear()
    write({ alive: true })
    this.#begun.set(test, performance.now())
  }

  override onAfterRunTask(test: Test): void {
    super.onAfterRunTask(test)
    const at = getTests(test.file).indexOf(test)
    const ms = performance.now() - (this.#begun.get(test) ?? 0)
    if (test.result?.state === 'pass') this.#known.push({ at, ms, reached: new Set(edits.reached) })
    else if (test.result?.state === 'fail') write({ unsound: getNames(test).slice(1).join(' > ') })
    edits.reached.clear()
  }

  override async onAfterRunFiles(files?: File[]): Promise<void> {
    super.onAfterRunFiles()
    const [file] = files ?? []
    if (!file) return
    for (const id of edits.reached) this.#between.add(id)
    try {
      await tryEdits(this, file.filepath, {
        known: this.#known,
        imported: this.#imported,
        between: this.#between,
      })
    } catch (error) {
      write({ trouble: String(error instanceof Error ? error.stack : error) })
    }
  }
}

interface Reached {
  readonly known: readonly Known[]
  readonly imported: ReadonlySet<number>
  readonly between: ReadonlySet<number>
}

async function tryEdits(
  outer: VitestTestRunner,
  path: string,
  { known, imported, between }: Reached,
): Promise<void> {
  const wanted = JSON.parse(readFileSync(join(folder, 'wanted.json'), 'utf8')) as number[]
  const reachedIn = (id: number) =>
    known.filter(({ reached }) => imported.has(id) || between.has(id) || reached.has(id))
  const work = wanted.filter((id) => reachedIn(id).length > 0)
  write({ work })
  if (work.length === 0) return
  const run = (tests: readonly Known[], anew = false, patience = 1) =>
    runTests(new Quiet(outer, tests, patience), path, anew)
  const needed = new Set(work.flatMap((id) => reachedIn(id).map(({ at }) => at)))
  // Tests that cannot run twice in one process notice nothing here.
  const unsteady = new Set<number | undefined>()
  for (let tries = 0; tries < 10; tries++) {
    const { failed } = await run(known.filter(({ at }) => needed.has(at) && !unsteady.has(at)))
    if (!failed) break
    write({ unsteady: failed.name })
    unsteady.add(failed.at)
    if (failed.at === undefined) return
  }
  for (const id of work) {
    const tests = reachedIn(id).filter(({ at }) => !unsteady.has(at))
    if (tests.length === 0) continue
    write({ begin: id })
    edits.active = id
    const quick = tests.filter(({ ms }) => ms < QUICK_MS)
    let { failed } = quick.length > 0 ? await run(quick, imported.has(id)) : ({} as Ran)
    if (!failed && quick.length < tests.length)
      ({ failed } = await run(
        tests.filter(({ ms }) => ms >= QUICK_MS),
        imported.has(id),
      ))
    edits.active = undefined
    if (!failed) {
      write({ id, noticed: false })
      continue
    }
    const same = failed.at === undefined ? tests : tests.filter(({ at }) => at === failed.at)
    if ((await run(same, imported.has(id))).failed) {
      // Something of the edit is left in this process: the rest is for another one.
      write({ spoiled: id, by: failed.name })
      return
    }
    edits.active = id
    const isNoticed = !failed.late || (await run(same, imported.has(id), PATIENCE)).failed !== undefined
    edits.active = undefined
    if (!isNoticed) write({ id, noticed: false })
    else write({ id, noticed: true, by: failed.name })
  }
  write({ finished: true })
}

/** Runs some tests of the file in the given order until the first failure; `anew` loads the sources again. */
async function runTests(runner: Quiet, path: string, anew: boolean): Promise<Ran> {
  runner.forget(path, anew)
  escaped = undefined
  const [file] = await startTests([path], runner)
  // An error outside of a test is told on the next turn.
  await new Promise((resolve) => setImmediate(resolve))
  if (runner.failed) return { failed: runner.failed }
  if (file?.result?.state === 'fail') return { failed: failedAs(undefined, messageOf(file)) }
  return escaped ? { failed: failedAs(undefined, `outside of a test: ${String(escaped)}`) } : {}
}

function failedAs(at: number | undefined, name: string, why = name): Failed {
  return { at, name: name.split('\n')[0] ?? '', late: why.includes('timed out in') }
}

function messageOf(suite: Suite): string {
  const own = suite.result?.errors?.[0]?.message
  return (
    own ?? suite.tasks.flatMap((task) => (task.type === 'suite' ? [messageOf(task)] : [])).find(Boolean) ?? ''
  )
}

/** The executor of the worker; vitest gives it to the runner that it makes itself. */
interface Inside {
  moduleRunner: unknown
  _otel: unknown
  workerState: {
    evaluatedModules: {
      idToModuleMap: Map<string, object>
      invalidateModule(module: object): void
    }
  }
}

/** Reports nothing to vitest and runs only the given tests. */
class Quiet extends VitestTestRunner {
  failed: Ran['failed']
  readonly #order: ReadonlyMap<number, number>

  constructor(outer: VitestTestRunner, tests: readonly Known[], patience: number) {
    const slowest = Math.max(0, ...tests.map(({ ms }) => ms))
    const testTimeout = patience * Math.min(15_000, TEST_MS + 5 * slowest)
    super({ ...outer.config, testTimeout, hookTimeout: patience * HOOK_MS })
    this.#order = new Map(tests.map(({ at }, order) => [at, order]))
    const { moduleRunner, _otel } = outer as unknown as Inside
    Object.assign(this, { moduleRunner, _otel })
  }

  forget(path: string, anew: boolean): void {
    const { evaluatedModules } = (this as unknown as Inside).workerState
    for (const [id, module] of evaluatedModules.idToModuleMap)
      if (id === path || (anew && id.includes('/packages/') && !id.includes('/node_modules/')))
        evaluatedModules.invalidateModule(module)
  }

  onCollected(files: File[]): void {
    for (const file of files)
      getTests(file).forEach((test, at) => {
        if (!this.#order.has(at)) test.mode = 'skip'
      })
  }

  onTaskUpdate(): Promise<void> {
    return Promise.resolve()
  }

  override onAfterRunTask(test: Test): void {
    super.onAfterRunTask(test)
    write({ alive: true })
    if (test.result?.state !== 'fail') return
    const at = getTests(test.file).indexOf(test)
    const why = test.result.errors?.map(({ message }) => message).join('\n')
    this.failed ??= failedAs(at, getNames(test).slice(1).join(' > '), why)
    Object.assign(this, { cancelRun: true })
  }
}

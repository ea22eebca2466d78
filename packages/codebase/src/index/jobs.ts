// index/jobs.ts: the jobs of index threads, from the calling side: read files into segments, on as many threads as
// allowed, and check every file once. text-index.ts decides when, worker.ts does the work.
import { INDEX_LIMITS } from '../limits.ts'
import type { IndexStore, TextSegment } from './storage.ts'
import { Thread } from './threads.ts'
import type { Reply, Request } from './worker.ts'

export type IndexThread = Thread<Request, Reply>
export const newIndexThread = (): IndexThread => new Thread('index/worker')

export interface BuildOptions {
  readonly root: string
  readonly store: IndexStore
  readonly threads: number
  /** Ends a build whose caller has gone; nothing is committed then. */
  readonly signal: AbortSignal
  readonly onProgress: (done: number, of: number) => void
}

/** Indexes every file in slices and commits once. Only under the store's lock. */
export async function buildText(files: readonly string[], options: BuildOptions): Promise<void> {
  const { store, signal } = options
  await store.sweepText()
  const slices = sliced([...files].sort())
  // Threads of its own: one that built segments keeps their memory.
  const threads = [newIndexThread()]
  while (threads.length < Math.min(options.threads, slices.length)) threads.push(newIndexThread())
  const end = () => Promise.all(threads.map((thread) => thread.close()))
  const stop = () => void end()
  signal.addEventListener('abort', stop, { once: true })
  const indexing = indexSlices(slices, threads, options)
  const segments = await indexing.finally(() => {
    signal.removeEventListener('abort', stop)
    return end()
  })
  // A thread may have been done before it was stopped.
  signal.throwIfAborted()
  await store.commitText(segments)
  store.text()
  await store.sweepText()
}

function sliced(files: readonly string[]): (readonly string[])[] {
  const slices: (readonly string[])[] = []
  for (let at = 0; at < files.length; at += INDEX_LIMITS.filesPerJob)
    slices.push(files.slice(at, at + INDEX_LIMITS.filesPerJob))
  return slices
}

/** Every thread takes the next slice when it is done with one; the segments are in the order of the slices. */
async function indexSlices(
  slices: readonly (readonly string[])[],
  threads: readonly IndexThread[],
  options: BuildOptions,
): Promise<TextSegment[]> {
  const results: (readonly TextSegment[])[] = []
  const done = slices.map(() => 0)
  const of = slices.reduce((sum, slice) => sum + slice.length, 0)
  const report = () =>
    options.onProgress(
      done.reduce((a, b) => a + b, 0),
      of,
    )
  report()
  const queue = slices.entries()
  const work = async (thread: IndexThread) => {
    // The result of a job is being written while the thread works on the next one.
    let kept: Promise<unknown> = Promise.resolve()
    for (const [n, slice] of queue) {
      options.signal.throwIfAborted()
      const adding = await indexOn(thread, slice, options, (count) => {
        done[n] = count
        report()
      })
      await kept
      kept = Promise.all(adding).then((segments) => {
        results[n] = segments
      })
      kept.catch(() => undefined)
      done[n] = slice.length
    }
    await kept
  }
  await Promise.all(threads.map(work))
  return results.flat()
}

/** Settles when the files are read; the returned promises when they are written as well. */
export async function indexOn(
  thread: IndexThread,
  files: readonly string[],
  { root, store }: Pick<BuildOptions, 'root' | 'store'>,
  onProgress: (count: number) => void = () => undefined,
): Promise<Promise<TextSegment>[]> {
  const adding: Promise<TextSegment>[] = []
  const job = { root, files, filesPerSegment: INDEX_LIMITS.filesPerSegment }
  await thread.ask({ do: 'index', job }, (part) => {
    if (part.type === 'progress') onProgress(part.files)
    if (part.type !== 'part' || !part.batch) return
    const added = store.addText(part.batch)
    // The caller that awaits it sees the failure; until then it is unhandled on purpose.
    added.catch(() => undefined)
    adding.push(added)
  })
  return adding
}

export interface Seen {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
  readonly ctimeMs: number
}

/** Checks every file that counts, on a thread of its own, because the memory this takes should be freed. */
export async function survey(root: string, ripgrep: string, onFile: (seen: Seen) => void): Promise<void> {
  const thread = newIndexThread()
  try {
    await thread.ask({ do: 'survey', root, ripgrep }, (part) => {
      if (part.type !== 'part' || part.batch) return
      const names = Buffer.from(part.names.buffer, part.names.byteOffset, part.names.byteLength)
      for (let at = 0, n = 0; at < names.length; n += 3) {
        const end = names.indexOf(0, at)
        const [size = -1, mtimeMs = -1, ctimeMs = -1] = part.numbers.subarray(n, n + 3)
        onFile({ path: names.toString('utf8', at, end), size, mtimeMs, ctimeMs })
        at = end + 1
      }
    })
  } finally {
    await thread.close()
  }
}

// files: bounded reads, atomic writes, and one lock that works between processes. It knows nothing about the files'
// content.
export { type FileLock, type LockOptions, withFileLock } from './lock.ts'
export { type ReadOutcome, readTextFile } from './read.ts'
export { isRunning } from './running.ts'
export { realTarget, writeFileAtomic } from './write.ts'

// files: reading with bounds, writing atomically, and one lock that works between processes.
// It knows nothing of what is in the files.
export { type FileLock, type LockOptions, withFileLock } from './lock.ts'
export { type ReadOutcome, readTextFile } from './read.ts'
export { realTarget, writeFileAtomic } from './write.ts'

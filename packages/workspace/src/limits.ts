// limits.ts: every default number of the workspace server.
export const WORKSPACE_LIMITS = {
  /** Of a file that is edited or written, and of a patch. */
  textChars: 2 * 1024 * 1024,
  patchFiles: 100,
  todoItems: 100,
  /** Edits that can be undone, for one project. */
  journalEntries: 50,
  journalBytes: 64 * 1024 * 1024,
  /** A system takes 128 KiB for one variable. */
  commandChars: 100_000,
  commandMs: 120_000,
  commandMaxMs: 600_000,
  /** Of a command's output: the beginning and the end are kept. */
  outputHeadChars: 10_000,
  outputTailChars: 20_000,
  progressEveryMs: 500,
  /** Previews that a call is compared with. */
  previews: 50,
} as const

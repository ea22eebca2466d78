// exit-codes.ts: how the command ends, as scripts rely on it. Help and docs/cli.md are made from this table.

export const EXIT = {
  done: 0,
  toolError: 1,
  usage: 2,
  notFound: 3,
  connect: 4,
  login: 5,
  denied: 6,
  timeout: 7,
  interrupted: 130,
} as const

export interface ExitCode {
  readonly code: number
  readonly meaning: string
  /** What to do about it. */
  readonly next: string
}

const MEANINGS: Readonly<Record<keyof typeof EXIT, Omit<ExitCode, 'code'>>> = {
  done: { meaning: 'done', next: '' },
  toolError: {
    meaning: 'the tool answered with an error, or a check found a difference',
    next: 'read its text on stdout',
  },
  usage: {
    meaning: 'wrong use: an argument, an option or a file',
    next: 'read the hint; `--help` has the usage',
  },
  notFound: {
    meaning: 'no such server, tool, resource, prompt or skill',
    next: '`plugboard list`, `plugboard tools`',
  },
  connect: {
    meaning: 'could not connect, or the connection was lost',
    next: '`plugboard doctor NAME`, `plugboard logs NAME`',
  },
  login: { meaning: 'the server needs a login', next: '`plugboard login NAME`' },
  denied: {
    meaning: 'denied by a permission rule, policy or missing trust',
    next: '`plugboard explain NAME`, `plugboard approve`',
  },
  timeout: { meaning: 'timed out', next: '`--timeout MS`' },
  interrupted: { meaning: 'interrupted by Ctrl-C or SIGTERM', next: '' },
}

export const EXIT_CODES: readonly ExitCode[] = Object.entries(EXIT).map(([name, code]) => ({
  code,
  // Entries of EXIT have its own keys.
  ...MEANINGS[name as keyof typeof EXIT],
}))

// The key by which boards share a server: what a shell happens to have in its environment is no part of it; what the server
// gets is.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ServerEntry } from '../config/entry.ts'
import { systemHost } from '../host.ts'
import { keyOf } from './pool.ts'

/** Differs between two windows, or two depths, of one user's shell. */
const OF_ONE_SHELL = [
  '_',
  'PWD',
  'OLDPWD',
  'SHLVL',
  'TERM',
  'COLORTERM',
  'COLUMNS',
  'LINES',
  'WINDOWID',
  'TMUX',
  'TMUX_PANE',
  'STY',
  'TERM_PROGRAM',
  'TERM_SESSION_ID',
  'LC_TERMINAL',
  'LC_TERMINAL_VERSION',
  'SSH_TTY',
  'SSH_CONNECTION',
  'GPG_TTY',
  'VSCODE_PID',
  'HISTFILE',
  'PROMPT_COMMAND',
]
const BASE = { PATH: '/usr/bin:/bin', HOME: '/home/u', LANG: 'C.UTF-8', USER: 'u' }

const value = fc.string({ maxLength: 20 }).filter((text) => !text.includes('\0'))
const shell = fc.dictionary(fc.constantFrom(...OF_ONE_SHELL), value)

function keyIn(env: Readonly<Record<string, string>>, more: Partial<ServerEntry> = {}, root = '/p'): string {
  const entry = { type: 'stdio', command: 'server', args: [], env: {}, ...more } as ServerEntry
  return keyOf(
    {
      server: { name: 's', scope: 'user', source: '/f', entry, signature: 'x' },
      host: systemHost({ env, platform: 'linux' }),
      handlers: {},
      clientInfo: { name: 'plugboard', version: '1' },
      stateDir: '/state',
    },
    { root },
    'user',
  )
}

describe('the key of a shared server', () => {
  it('is the same for any two shells of one user, in whatever order their variables are', () => {
    fc.assert(
      fc.property(shell, shell, (one, other) => {
        const reversed = Object.fromEntries(Object.entries({ ...other, ...BASE }).reverse())
        expect(keyIn({ ...BASE, ...one }, {}, '/p')).toBe(keyIn(reversed, {}, '/q'))
      }),
    )
  })

  it('is the same when folders of the PATH are there twice, and another when their order differs', () => {
    expect(keyIn({ ...BASE, PATH: '/usr/bin:/bin:/usr/bin' })).toBe(keyIn(BASE))
    expect(keyIn({ ...BASE, PATH: '/bin:/usr/bin' })).not.toBe(keyIn(BASE))
  })

  it('is another when the server gets another value: from its entry, or because it inherits the variable', () => {
    fc.assert(
      fc.property(value, value, fc.constantFrom('LANG', 'HTTP_PROXY', 'LC_ALL', 'TZ'), (one, other, name) => {
        fc.pre(one !== other && !one.startsWith('()') && !other.startsWith('()'))
        expect(keyIn({ ...BASE, [name]: one })).not.toBe(keyIn({ ...BASE, [name]: other }))
        expect(keyIn(BASE, { env: { TOKEN: one } })).not.toBe(keyIn(BASE, { env: { TOKEN: other } }))
        const all = { inheritEnv: true }
        expect(keyIn({ ...BASE, PWD: one }, all)).not.toBe(keyIn({ ...BASE, PWD: other }, all))
      }),
    )
  })
})

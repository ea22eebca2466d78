// Which boards may use one instance of a server, by its entry.
import { describe, expect, it } from 'vitest'
import type { ServerEntry } from './entry.ts'
import { sharingOf } from './sharing.ts'

const ROOT = '/home/ann/app'
const stdio = (more: Partial<Extract<ServerEntry, { type: 'stdio' }>>): ServerEntry => ({
  type: 'stdio',
  command: 'npx',
  args: [],
  env: {},
  cwd: '/home/ann/.plugboard/run/x',
  ...more,
})
const share = (entry: ServerEntry, author?: 'user' | 'repository') =>
  sharingOf({ entry, ...(author && { author }) }, ROOT).share

describe('the default', () => {
  it('is one instance for all projects where the project does not matter', () => {
    expect(share({ type: 'http', url: 'https://a.example/mcp', headers: {} })).toBe('user')
    expect(share(stdio({ args: ['-y', '@modelcontextprotocol/server-memory'] }))).toBe('user')
  })

  it('is one per project for a server that gets the project folder', () => {
    expect(share(stdio({ cwd: ROOT }))).toBe('project')
    expect(share(stdio({ cwd: `${ROOT}/packages/a` }))).toBe('project')
    expect(share(stdio({ args: ['server-filesystem', ROOT] }))).toBe('project')
    expect(share(stdio({ args: [`--root=${ROOT}/src`] }))).toBe('project')
    expect(share(stdio({ env: { DATA: `${ROOT}/data` } }))).toBe('project')
    expect(share({ type: 'sdk' })).toBe('project')
    // Another folder with the same beginning is not the project.
    expect(share(stdio({ args: [`${ROOT}lication`] }))).toBe('user')
  })

  it('is one per session for servers that keep state for a conversation', () => {
    expect(share(stdio({ args: ['@playwright/mcp@latest'] }))).toBe('session')
    expect(share(stdio({ args: ['-y', 'chrome-devtools-mcp'] }))).toBe('session')
    expect(share(stdio({ args: ['/opt/browser-mcp/dist/index.js'] }))).toBe('session')
    expect(share(stdio({ args: ['/x/node_modules/@playwright/mcp/lib/a/b/cli.js'] }))).toBe('session')
  })

  it('goes by the program, not by the folders above it', () => {
    expect(share(stdio({ args: ['/work/terminal/notes/dist/bin/server.js'] }))).toBe('user')
    expect(share(stdio({ args: ['/browser/node_modules/@scope/notes/cli.js'] }))).toBe('user')
  })
})

describe('what the entry says', () => {
  it('counts for an entry of the user', () => {
    expect(share(stdio({ cwd: ROOT, share: 'user' }))).toBe('user')
    expect(share(stdio({ args: ['@playwright/mcp'], share: 'user' }))).toBe('user')
    expect(share({ type: 'http', url: 'https://a.example', headers: {}, share: 'session' })).toBe('session')
  })

  it('cannot widen the sharing of an entry that came with a repository', () => {
    expect(share({ type: 'http', url: 'https://a.example', headers: {} }, 'repository')).toBe('project')
    expect(share(stdio({ share: 'user' }), 'repository')).toBe('project')
    expect(share(stdio({ share: 'session' }), 'repository')).toBe('session')
  })
})

it('says why', () => {
  const why = (entry: ServerEntry) => sharingOf({ entry }, ROOT)
  const remote = { type: 'http', url: 'https://a.example/mcp', headers: {} } as const
  expect([
    why({ type: 'sse-ide', headers: {} } as ServerEntry),
    why(remote),
    why({ ...remote, headersHelper: 'x', helperCwd: ROOT } as ServerEntry),
    why({ ...remote, headersHelper: 'x', helperCwd: '/elsewhere' } as ServerEntry),
    why(stdio({ args: ['./server.js'] })),
    why(stdio({ args: ['server.js./'] })),
    why(stdio({ args: ['.'] })),
    sharingOf({ entry: stdio({ args: ['/etc'] }) }, '/'),
  ]).toEqual([
    { share: 'project', why: 'it belongs to the editor that has the project open' },
    { share: 'user', why: 'it is a remote server' },
    { share: 'project', why: 'its headersHelper runs in the project folder' },
    { share: 'user', why: 'it is a remote server' },
    { share: 'project', why: 'its entry names the project folder' },
    { share: 'user', why: 'it neither starts in the project folder nor names it' },
    { share: 'project', why: 'its entry names the project folder' },
    { share: 'project', why: 'it starts in the project folder' },
  ])
})

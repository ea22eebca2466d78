// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of entries are a subject here.
import { describe, expect, it } from 'vitest'
import { readEntry } from './schema.ts'
import { WRITTEN_TYPES } from './transport-traits.ts'

const local = { command: 'node' }
const remote = { type: 'http', url: 'https://example.com/mcp' }
const entryOf = (written: unknown) => {
  const outcome = readEntry(written)
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.faults))
  return outcome.entry
}
const faultsOf = (written: unknown) =>
  readEntry(written).faults.map(({ severity, path, message }) => `${severity} ${path.join('.')}: ${message}`)

describe('the kind of a server', () => {
  it.each<[object, string]>([
    [{ command: 'x' }, 'stdio'],
    [{ type: 'stdio', command: 'x' }, 'stdio'],
    [{ command: 'x', url: 'https://a' }, 'stdio'],
    [{ type: 'http', url: 'https://a' }, 'http'],
    [{ type: 'streamable-http', url: 'https://a' }, 'http'],
    [{ type: 'sse', url: 'https://a' }, 'sse'],
    [{ type: 'ws', url: 'wss://a' }, 'ws'],
    [{ type: 'claudeai-proxy', url: 'https://a' }, 'claudeai-proxy'],
    [{ type: 'sse-ide' }, 'sse-ide'],
    [{ type: 'ws-ide', url: 'ws://127.0.0.1:1', ideName: 'x' }, 'ws-ide'],
    [{ type: 'sdk' }, 'sdk'],
  ])('of %j is %s', (written, type) => expect(entryOf(written).type).toBe(type))

  it('of a bare url is http that may fall back to sse', () => {
    expect(entryOf({ url: 'https://a/' })).toEqual({
      type: 'http',
      url: 'https://a/',
      headers: {},
      fallbackToSse: true,
    })
    expect(entryOf(remote)).not.toHaveProperty('fallbackToSse')
  })

  it('covers every written type', () => {
    expect([...WRITTEN_TYPES.keys()]).toEqual([
      'stdio',
      'http',
      'streamable-http',
      'sse',
      'ws',
      'claudeai-proxy',
      'sse-ide',
      'ws-ide',
      'sdk',
    ])
  })
})

describe('a whole entry', () => {
  const common = {
    timeout: 1000,
    disabled: false,
    reconnect: { maxAttempts: 0, delayMs: 5 },
    permissions: {
      allowedTools: ['a'],
      deniedTools: ['b'],
      allowedResources: ['c'],
      readPermission: 'allow',
      writePermission: 'deny',
    },
    alwaysLoad: ['x'],
    description: 'd',
  }

  it('of a local server is read without a word', () => {
    const written = {
      type: 'stdio',
      command: 'x',
      args: ['1'],
      env: { A: 'b' },
      cwd: '/c',
      inheritEnv: true,
      ...common,
    }
    expect(readEntry(written)).toEqual({ ok: true, entry: written, faults: [] })
  })

  it('of a remote server is read without a word, scopes as a list', () => {
    const oauth = { clientId: 'i', callbackPort: 1, authServerMetadataUrl: 'https://m', xaa: true }
    const written = {
      ...remote,
      headers: { H: 'v' },
      headersHelper: 'run',
      oauth: { ...oauth, scopes: 'a  b' },
      ...common,
    }
    expect(readEntry(written)).toEqual({
      ok: true,
      faults: [],
      entry: { ...written, oauth: { ...oauth, scopes: ['a', 'b'] } },
    })
  })

  it('takes numbers and booleans where strings belong, and warns without repeating a value', () => {
    const outcome = readEntry({ command: 'x', args: [1, true], env: { PORT: 3000, PIN: 1234 } })
    expect(outcome).toMatchObject({
      ok: true,
      entry: { args: ['1', 'true'], env: { PORT: '3000', PIN: '1234' } },
    })
    expect(outcome.faults.map(({ path }) => path)).toEqual([
      ['args', 0],
      ['args', 1],
      ['env', 'PORT'],
      ['env', 'PIN'],
    ])
    expect(JSON.stringify(outcome.faults)).not.toContain('1234')
  })
})

describe('every wrong type gives one diagnostic with its place and a hint', () => {
  const wrong: [field: string, values: unknown[], base: object, path?: string][] = [
    ['command', [1, null, [], {}, ''], {}],
    ['args', ['x', 1, {}, null], local],
    ['args', [[null], [{}], [[]]], local, 'args.0'],
    ['env', ['x', 1, null, []], local],
    ['env', [{ A: null }, { A: {} }, { A: [] }], local, 'env.A'],
    ['cwd', [1, null, ''], local],
    ['inheritEnv', ['yes', 1, null], local],
    ['url', [1, null, {}, '', 'not a url', 'ftp://a', '/mcp'], { type: 'http' }],
    ['headers', ['x', 1, null], remote],
    ['headers', [{ A: null }], remote, 'headers.A'],
    ['headersHelper', [1, '', []], remote],
    ['oauth', ['x', 1, []], remote],
    ['oauth', [{ clientId: 1 }, { clientId: '' }], remote, 'oauth.clientId'],
    [
      'oauth',
      [{ callbackPort: 'x' }, { callbackPort: 0 }, { callbackPort: 70000 }, { callbackPort: 1.5 }],
      remote,
      'oauth.callbackPort',
    ],
    ['oauth', [{ scopes: 1 }, { scopes: {} }], remote, 'oauth.scopes'],
    ['oauth', [{ xaa: 'yes' }], remote, 'oauth.xaa'],
    ['timeout', ['1', 0, -1, null, 2 ** 40, Number.POSITIVE_INFINITY], local],
    ['disabled', ['true', 1, null], local],
    ['reconnect', ['x', 1, []], local],
    [
      'reconnect',
      [{ maxAttempts: -1 }, { maxAttempts: 1.5 }, { maxAttempts: '3' }, { maxAttempts: 1e9 }],
      local,
      'reconnect.maxAttempts',
    ],
    ['reconnect', [{ delayMs: 0 }, { delayMs: '1' }], local, 'reconnect.delayMs'],
    ['permissions', ['x', []], local],
    ['permissions', [{ allowedTools: 'x' }], local, 'permissions.allowedTools'],
    ['permissions', [{ deniedTools: [1] }], local, 'permissions.deniedTools.0'],
    ['permissions', [{ readPermission: 'yes' }], local, 'permissions.readPermission'],
    ['alwaysLoad', ['x', 1, null], local],
    ['description', [1, null], local],
    ['type', ['nope', 1, null, '', 'constructor', '__proto__'], local],
  ]
  const cases = wrong.flatMap(([field, values, base, path]) =>
    values.map((value) => [field, value, base, path ?? field] as const),
  )
  it.each(cases)('%s = %j', (field, value, base, path) => {
    const outcome = readEntry({ ...base, [field]: value })
    expect(outcome.ok).toBe(false)
    expect(outcome.faults).toHaveLength(1)
    expect(outcome.faults[0]).toMatchObject({
      severity: 'error',
      message: expect.stringMatching(/\S/),
      hint: expect.stringMatching(/\S/),
    })
    expect(outcome.faults[0]?.path.join('.')).toBe(path)
  })

  it('two faults give two', () => {
    expect(faultsOf({ command: 1, timeout: 'x' }).sort()).toEqual([
      'error command: expected a string, found the number 1',
      'error timeout: expected a number, found the string "x"',
    ])
  })
})

describe('what an entry is not', () => {
  it.each<[unknown, string]>([
    [null, 'expected an object, found null'],
    ['npx x', 'expected an object, found the string "npx x"'],
    [[], 'expected an object, found a list'],
    [{}, 'has neither "command" nor "url"'],
    [{ type: 'stdio' }, '"command" is missing'],
    [{ type: 'http', command: 'x' }, '"url" is missing'],
  ])('%j', (written, message) => {
    expect(readEntry(written).ok).toBe(false)
    expect(faultsOf(written).filter((fault) => fault.startsWith('error'))).toEqual([`error : ${message}`])
  })

  it.each([
    [{ serverUrl: 'https://a' }, 'Windsurf'],
    [{ httpUrl: 'https://a' }, 'Gemini'],
    [{ mcpServers: {} }, 'list of servers'],
  ])('recognises another product in %j', (written, word) => {
    expect(readEntry(written).faults[0]?.hint).toContain(word)
  })
})

describe('unknown keys', () => {
  it.each<[object, string, string]>([
    [{ ...local, comand: 'x' }, 'comand', 'Did you mean "command"?'],
    [{ ...local, url: 'https://a' }, 'url', 'keep one of them'],
    [{ ...remote, args: [] }, 'args', 'belongs to a local server'],
    [{ ...local, quite_else: 1 }, 'quite_else', 'ignored'],
    [
      { ...local, permissions: { deniedTool: ['x'] } },
      'permissions.deniedTool',
      'Did you mean "deniedTools"?',
    ],
    [{ ...remote, oauth: { clientID: 'x' } }, 'oauth.clientID', 'Did you mean "clientId"?'],
    [{ ...local, reconnect: { delay: 1 } }, 'reconnect.delay', 'Did you mean "delayMs"?'],
  ])('warn, and the entry works: %j', (written, path, hint) => {
    const { ok, faults } = readEntry(written)
    expect(ok).toBe(true)
    expect(faults).toMatchObject([{ severity: 'warning', hint: expect.stringContaining(hint) }])
    expect(faults[0]?.path.join('.')).toBe(path)
  })
})

describe('a url', () => {
  it.each(['https://${HOST}/mcp', '${URL}', 'http://localhost:3000'])('may be %s', (url) => {
    expect(readEntry({ type: 'http', url }).ok).toBe(true)
  })

  it('may not carry credentials, and the fault does not repeat them', () => {
    const outcome = readEntry({ type: 'http', url: 'https://user:hunter2@a/' })
    expect(outcome.ok).toBe(false)
    expect(JSON.stringify(outcome.faults)).not.toContain('hunter2')
    expect(
      JSON.stringify(readEntry({ type: 'http', url: 'user:hunter2@/x?token=hunter2' }).faults),
    ).not.toContain('token=hunter2')
  })
})

describe('what a fault says', () => {
  const said = (written: unknown) =>
    readEntry(written).faults.map(({ path, message, hint }) => `${path.join('.')}: ${message} | ${hint}`)
  const skipped = 'Correct it; until then the entry is skipped.'
  const long = 'a'.repeat(50)

  it.each<[unknown, string[]]>([
    [5, [': expected an object, found the number 5 | Write { "command": … } or { "url": … }.']],
    [
      'a'.repeat(40),
      [
        `: expected an object, found the string "${'a'.repeat(40)}" | Write { "command": … } or { "url": … }.`,
      ],
    ],
    [
      long,
      [
        `: expected an object, found the string "${'a'.repeat(40)}…" | Write { "command": … } or { "url": … }.`,
      ],
    ],
    [{}, [': has neither "command" nor "url" | Add "command" for a local server or "url" for a remote one.']],
    [
      { servers: {} },
      [
        ': has neither "command" nor "url" | This is a list of servers, not one server; put it under "mcpServers" at the top of the file.',
      ],
    ],
    [{ uri: 'x' }, [': has neither "command" nor "url" | "uri" is not a key. Did you mean "url"?']],
    [
      { type: 'nope' },
      [
        'type: unknown type "nope" | Expected one of stdio, http, streamable-http, sse, ws, claudeai-proxy, sse-ide, ws-ide, sdk.',
      ],
    ],
    [{ type: 5 }, [expect.stringContaining('type: unknown type 5 | ')]],
    [{ type: 'http' }, [': "url" is missing | Add it.']],
    [{ command: [] }, [`command: expected a string, found a list | ${skipped}`]],
    [{ command: {} }, [`command: expected a string, found an object | ${skipped}`]],
    [{ command: '' }, [`command: must not be empty | ${skipped}`]],
    [{ ...local, disabled: null }, [`disabled: expected true or false, found null | ${skipped}`]],
    [{ ...local, timeout: 0 }, [`timeout: must be greater than 0 | ${skipped}`]],
    [
      { ...local, permissions: { readPermission: 'yes' } },
      [`permissions.readPermission: expected "allow", "ask" or "deny", found the string "yes" | ${skipped}`],
    ],
    [
      { ...local, roots: true },
      [`roots: expected false or a list of folders, found the boolean true | ${skipped}`],
    ],
    [{ ...local, env: { TOKEN: ['s3cret'] } }, [`env.TOKEN: expected a string, found a list | ${skipped}`]],
    [
      { ...remote, oauth: 's3cret-s3cret-s3cret' },
      [expect.stringMatching(/^oauth: expected an object, found the string "/)],
    ],
    [
      { ...local, args: [1, 'x', true], env: { A: 1, B: 'x' } },
      [
        'args.0: expected a string, found the number 1 | It is taken as text; put it in double quotes.',
        'args.2: expected a string, found the boolean true | It is taken as text; put it in double quotes.',
        'env.A: expected a string, found a number | It is taken as text; put it in double quotes.',
      ],
    ],
    [
      { ...remote, headers: { A: 1 } },
      ['headers.A: expected a string, found a number | It is taken as text; put it in double quotes.'],
    ],
    [
      { type: 'http', url: 'ftp://a' },
      ['url: a server of type "http" cannot have a ftp: URL | Expected http:// or https://.'],
    ],
    [
      { type: 'http', url: 'mcp' },
      ['url: "mcp" is not a URL | Write it whole, as in "https://example.com/mcp".'],
    ],
    ...['https://u@a/', 'https://:p@a/'].map((url): [object, string[]] => [
      { type: 'http', url },
      ['url: the URL carries a user name or password | Put credentials into "headers", from a ${VARIABLE}.'],
    ]),
    [{ type: 'ws', url: 'ftp://a' }, [expect.stringContaining('cannot have a ftp: URL | Expected ')]],
    [{ type: 'sdk', url: 'x' }, [expect.stringContaining('url: unknown key "url"')]],
    [
      { ...remote, command: 'x' },
      [
        'command: unknown key "command" | "command" belongs to a local server (type "stdio"); it is ignored here.',
      ],
    ],
    [{ ...remote, quite_else: 1 }, ['quite_else: unknown key "quite_else" | It is ignored.']],
    [{ ...local, headers: {} }, ['headers: unknown key "headers" | It is ignored.']],
    [{ ...local, oauth: { nothing: 1 } }, ['oauth: unknown key "oauth" | It is ignored.']],
    [{ ...local, permissions: null }, [`permissions: expected an object, found null | ${skipped}`]],
  ])('%j', (written, faults) => {
    expect(said(written)).toEqual(faults)
  })

  it('hides a value that may be a secret', () => {
    const [fault] = readEntry({ ...remote, headersHelper: 'x', headers: 'Bearer abcdefghijklmnop' }).faults
    expect(fault?.message).toMatch(/^expected an object of strings, found the string /)
    expect(fault?.message).not.toContain('abcdefghijklmnop')
  })
})

describe('what an entry becomes', () => {
  it.each<[object, object]>([
    [{ command: 'x' }, { type: 'stdio', command: 'x', args: [], env: {} }],
    [remote, { ...remote, headers: {} }],
    [{ type: 'sse-ide' }, { type: 'sse-ide', headers: {} }],
    [
      { type: 'sdk', name: 'n' },
      { type: 'sdk', name: 'n' },
    ],
    [
      { ...remote, oauth: { scopes: ' a b ' } },
      { ...remote, headers: {}, oauth: { scopes: ['a', 'b'] } },
    ],
    [
      { ...remote, oauth: { scopes: ['a'] } },
      { ...remote, headers: {}, oauth: { scopes: ['a'] } },
    ],
    [
      { url: '${URL}', headers: { A: 1, B: false } },
      { type: 'http', url: '${URL}', headers: { A: '1', B: 'false' }, fallbackToSse: true },
    ],
  ])('%j', (written, entry) => {
    expect(entryOf(written)).toStrictEqual(entry)
  })

  it.each<[object, boolean]>([
    [{ reconnect: { maxAttempts: 0 } }, true],
    [{ reconnect: { maxAttempts: 1000 } }, true],
    [{ reconnect: { maxAttempts: 1001 } }, false],
    [{ timeout: 2 ** 31 - 1 }, true],
    [{ timeout: 2 ** 31 }, false],
    [{ connectTimeout: 0.5 }, true],
    [{ alwaysLoad: true, concurrentTools: ['a'], share: 'session', roots: false }, true],
    [{ share: 'all' }, false],
    [{ roots: [''] }, false],
  ])('within its limits: %j', (more, ok) => {
    expect(readEntry({ ...local, ...more }).ok).toBe(ok)
  })

  it.each([
    [1, true],
    [65535, true],
    [0, false],
    [65536, false],
  ])('with the callback port %d: %s', (callbackPort, ok) => {
    expect(readEntry({ ...remote, oauth: { callbackPort } }).ok).toBe(ok)
  })
})

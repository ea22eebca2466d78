// What becomes of one field of one entry, in both directions, with the words that the user reads about it.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files are the subject here.
import { stringify } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../../limits.ts'
import { excerpt } from './excerpt.ts'
import { type ClientFormat, findClient, type ImportNote, type WrittenEntry } from './index.ts'
import { parseJsonTree } from './tree.ts'

type Id = 'claude-desktop' | 'codex' | 'cursor' | 'gemini' | 'opencode' | 'vscode' | 'windsurf'

function client(id: Id): ClientFormat {
  const found = findClient(id)
  if (!found) throw new Error(`no client ${id}`)
  return found
}

const KEYS: Readonly<Partial<Record<Id, string>>> = {
  vscode: 'servers',
  codex: 'mcp_servers',
  opencode: 'mcp',
}
const documentOf = (id: Id, server: object) => ({ [KEYS[id] ?? 'mcpServers']: { s: server } })
const textOf = (id: Id, document: object) => (id === 'codex' ? stringify(document) : JSON.stringify(document))
const said = (notes: readonly ImportNote[]) =>
  notes.map(({ server, field, message }) => `${[server, field].filter(Boolean).join('.')}: ${message}`)

const SECRET = 'A client secret is not kept in a file: set MCP_CLIENT_SECRET when you log in.'
const UNKNOWN = 'This field is not known here and is left out.'
const ENV_FILE =
  'Environment files are not read here: put the variables into `env`, or set them before starting.'
const GALLERY = 'Where the server was installed from is left out.'
const SANDBOX = 'There is no sandbox here: the server runs with all your rights.'
const LOCAL_ONLY = 'Only variables of this machine can be passed on; it is left out.'
const out = (expected: string) => `Expected ${expected}; the server is left out.`
const x = { command: 'x' }
const remote = { url: 'https://h/mcp' }

describe('a field of a client’s entry', () => {
  it.each<[Id, object, WrittenEntry | undefined, string[]]>([
    // Codex
    [
      'codex',
      { ...x, bearer_token: 't' },
      x,
      ['s.bearer_token: A token in the file is refused by Codex too; use bearer_token_env_var.'],
    ],
    [
      'codex',
      { ...remote, oauth: { client_secret: 't', other: 1 } },
      { type: 'http', ...remote },
      [`s.oauth.client_secret: ${SECRET}`, `s.oauth.other: ${UNKNOWN}`],
    ],
    ['codex', { ...x, env_vars: 'A' }, undefined, [`s.env_vars: ${out('a list of names')}`]],
    [
      'codex',
      { ...x, env_vars: ['A', { name: 'B' }, { name: 'C', source: 'local' }] },
      { ...x, env: { A: '${A}', B: '${B}', C: '${C}' } },
      [],
    ],
    [
      'codex',
      { ...x, env_vars: [{ name: 'A', source: 'remote' }, { name: 5 }, { other: 'B' }] },
      x,
      [0, 1, 2].map((index) => `s.env_vars[${index}]: ${LOCAL_ONLY}`),
    ],
    ['codex', { ...x, tool_timeout_sec: 0 }, { ...x, timeout: 0 }, []],
    ...[-1, Number.POSITIVE_INFINITY, '5'].map((tool_timeout_sec): [Id, object, undefined, string[]] => [
      'codex',
      { ...x, tool_timeout_sec },
      undefined,
      [`s.tool_timeout_sec: ${out('a number that is not negative')}`],
    ]),
    ['codex', { ...x, startup_timeout_ms: 5 }, { ...x, connectTimeout: 5 }, []],
    ['codex', { ...x, startup_timeout_ms: 5, startup_timeout_sec: 1 }, { ...x, connectTimeout: 1000 }, []],
    ['codex', { ...x, enabled: true }, x, []],
    ['codex', {}, undefined, [`s.command: ${out('a command or a url')}`]],
    // Cursor
    ['cursor', { ...x, envFile: '.env', cwd: null }, x, [`s.envFile: ${ENV_FILE}`]],
    [
      'cursor',
      { ...remote, auth: { CLIENT_ID: 'i', CLIENT_SECRET: 't', other: 1 } },
      { ...remote, oauth: { clientId: 'i' } },
      [`s.auth.CLIENT_SECRET: ${SECRET}`, `s.auth.other: ${UNKNOWN}`],
    ],
    ['cursor', { ...remote, auth: {} }, remote, []],
    ['cursor', { ...x, args: ['a', 1] }, undefined, [`s.args: ${out('a list of texts')}`]],
    ['cursor', { ...x, args: [] }, { ...x, args: [] }, []],
    [
      'cursor',
      { ...x, args: ['${pathSeparator}a${/}b', '${userHome}'] },
      { ...x, args: ['/a/b', '${HOME}'] },
      [],
    ],
    ['cursor', { ...x, cwd: '${workspaceFolder}' }, { ...x, cwd: '.' }, []],
    ['cursor', { ...x, cwd: '${workspaceFolder}\\a/b' }, { ...x, cwd: 'a/b' }, []],
    // VS Code
    ['vscode', { ...x, disabled: true }, { ...x, disabled: true }, []],
    ['vscode', { ...x, disabled: false }, x, []],
    [
      'vscode',
      {
        ...x,
        envFile: '.env',
        dev: {},
        sandbox: {},
        sandboxEnabled: true,
        gallery: 'g',
        version: '1',
        odd: 1,
      },
      x,
      [
        `s.envFile: ${ENV_FILE}`,
        's.dev: Watching and debugging a server is VS Code’s own; it is left out.',
        `s.sandboxEnabled: ${SANDBOX}`,
        `s.sandbox: ${SANDBOX}`,
        `s.gallery: ${GALLERY}`,
        `s.version: ${GALLERY}`,
        `s.odd: ${UNKNOWN}`,
      ],
    ],
    ['vscode', { ...x, sandboxEnabled: false }, x, []],
    [
      'vscode',
      { url: 'unix:///s' },
      { url: 'unix:///s' },
      ['s.url: A socket or pipe as address is not supported here; the server will not connect.'],
    ],
    ['vscode', { ...remote, oauth: { other: 1 } }, remote, [`s.oauth.other: ${UNKNOWN}`]],
    ['vscode', {}, undefined, [`s.command: ${out('a command or a url')}`]],
    // Gemini
    ['gemini', { ...x, extensionName: 'e' }, x, ['s.extensionName: The extension it came with is left out.']],
    ['gemini', { ...x, trust: false }, x, []],
    [
      'gemini',
      { ...x, trust: true },
      x,
      ['s.trust: Trust is not given by importing; to have it, allow mcp__s in your permissions.'],
    ],
    [
      'gemini',
      { ...remote, oauth: { enabled: false, clientSecret: 't' } },
      remote,
      ['s.oauth.enabled: Logging in cannot be switched off here.', `s.oauth.clientSecret: ${SECRET}`],
    ],
    ['gemini', { url: 'https://h/sse/' }, { type: 'sse', url: 'https://h/sse/' }, []],
    ['gemini', { url: 'https://h/sse', type: 'http' }, { type: 'http', url: 'https://h/sse' }, []],
    ['gemini', {}, undefined, [`s.command: ${out('a command, an httpUrl or a url')}`]],
    // opencode
    ['opencode', { type: 'local', command: ['x'] }, x, []],
    ['opencode', { type: 'local', command: 'x' }, x, []],
    ['opencode', { type: 'local', command: ['x', 'a'] }, { ...x, args: ['a'] }, []],
    ...[[], [''], undefined].map((command): [Id, object, undefined, string[]] => [
      'opencode',
      { type: 'local', command },
      undefined,
      [`s.command: ${out('a list of the command and its arguments')}`],
    ]),
    ['opencode', { type: 'remote' }, undefined, [`s.url: ${out('a url')}`]],
    ['opencode', { type: 'ws', ...remote }, undefined, [`s.type: ${out('"local" or "remote"')}`]],
    [
      'opencode',
      { type: 'remote', ...remote, oauth: { clientSecret: 't', scope: ' a  b ' } },
      { ...remote, oauth: { scopes: ['a', 'b'] } },
      [`s.oauth.clientSecret: ${SECRET}`],
    ],
    [
      'opencode',
      { type: 'remote', ...remote, oauth: false },
      remote,
      ['s.oauth: Logging in cannot be switched off here.'],
    ],
    [
      'opencode',
      { type: 'remote', ...remote, timeout: { connect: 1 } },
      remote,
      ['s.timeout: Several timeouts for one server have no counterpart; they are left out.'],
    ],
    [
      'opencode',
      { type: 'remote', ...remote, enabled: true, disabled: true },
      { ...remote, disabled: true },
      [],
    ],
    // Windsurf
    ['windsurf', {}, undefined, [`s.command: ${out('a command or a serverUrl')}`]],
    ['windsurf', { serverUrl: 'https://a', url: 'https://b' }, { url: 'https://a' }, [`s.url: ${UNKNOWN}`]],
    // Claude Desktop
    ['claude-desktop', remote, remote, []],
    ['claude-desktop', {}, undefined, [`s.command: ${out('a command')}`]],
    [
      'claude-desktop',
      { ...x, args: ['${A}'] },
      { ...x, args: ['${A}'] },
      ['s.args[0]: ${A} is plain text in Claude Desktop; here it is a variable.'],
    ],
  ])('of %s: %j', (id, server, entry, notes) => {
    const read = client(id).parse(textOf(id, documentOf(id, server)))
    expect(read.servers.get('s')).toStrictEqual(entry)
    expect(said(read.notes)).toEqual(notes)
  })
})

describe('a document of a client', () => {
  it.each<[Id, object, string[], string[]]>([
    [
      'cursor',
      { $schema: 's', mcpServers: { a: x }, other: 1 },
      ['a'],
      ['other: This part of the file is not carried over.'],
    ],
    [
      'cursor',
      { mcpServers: [] },
      [],
      ['mcpServers: An object of servers is expected here; nothing is read from it.'],
    ],
    ['cursor', { mcpServers: null }, [], []],
    [
      'vscode',
      { servers: { a: x }, mcpServers: { b: x } },
      ['a'],
      ['mcpServers: This part of the file is not carried over.'],
    ],
    ['vscode', { mcpServers: { b: x }, odd: 1 }, ['b'], ['odd: This part of the file is not carried over.']],
    [
      'vscode',
      { servers: { a: x }, mcp: { servers: { b: x } } },
      ['a'],
      ['mcp: This part of the file is not carried over.'],
    ],
    ['vscode', { mcp: { servers: { b: x } }, 'editor.tabSize': 2 }, ['b'], []],
    ['vscode', { servers: {}, inputs: null }, [], []],
    [
      'vscode',
      { servers: {}, inputs: {} },
      [],
      ['inputs: A list is expected here; nothing is read from it.'],
    ],
    [
      'gemini',
      { mcpServers: { a: x }, mcp: { excluded: 'a' } },
      ['a'],
      ['mcp.excluded: A list of names is expected here; it is not read.'],
    ],
    [
      'gemini',
      { mcpServers: { a: x }, mcp: { serverCommand: 'c' } },
      ['a'],
      ['mcp.serverCommand: A server without a name is not carried over.'],
    ],
    [
      'opencode',
      { mcp: { servers: { a: { type: 'local', command: 'x' } }, timeout: 1 } },
      ['a'],
      ['mcp.timeout: This setting is not carried over.'],
    ],
    ['opencode', { mcp: { servers: { type: 'local', command: 'x' } } }, ['servers'], []],
    [
      'codex',
      { mcp_servers: { a: x }, mcp_oauth_callback_port: 1 },
      ['a'],
      ['mcp_oauth_callback_port: The callback port is set for each server here: oauth.callbackPort.'],
    ],
  ])('of %s: %j', (id, document, servers, notes) => {
    const read = client(id).parse(textOf(id, document))
    expect([...read.servers.keys()]).toEqual(servers)
    expect(said(read.notes)).toEqual(notes)
  })

  it('of VS Code names each input once, and which of them are secrets', () => {
    const inputs = [
      { id: 'key', password: true, description: 'The key', default: 's3cret' },
      { id: 'region', default: 'eu' },
      { id: 'odd', default: '}' },
      { id: 5 },
      'text',
    ]
    const args = ['key', 'key', 'region', 'odd', 'ghost'].map((id) => `\${input:${id}}`)
    const { servers, notes } = client('vscode').parse(
      JSON.stringify({ servers: { s: { ...x, args } }, inputs }),
    )
    expect(servers.get('s')?.['args']).toEqual(['${KEY}', '${KEY}', '${REGION:-eu}', '${ODD}', '${GHOST}'])
    expect(said(notes)).toEqual([
      'inputs.key: VS Code asks for this input (The key). Here, set the environment variable KEY, a secret.',
      'inputs.region: VS Code asks for this input. Here, set the environment variable REGION.',
      'inputs.odd: VS Code asks for this input. Here, set the environment variable ODD.',
      'inputs.ghost: This input is used but not defined. Here, set the environment variable GHOST.',
    ])
  })

  it('of Gemini switches off what is excluded and what is not allowed', () => {
    const off = (mcp: object) =>
      [...client('gemini').parse(JSON.stringify({ mcp, mcpServers: { a: x, b: x } })).servers]
        .filter(([, entry]) => entry['disabled'] === true)
        .map(([name]) => name)
    expect([off({}), off({ excluded: ['a'] }), off({ allowed: ['a'] }), off({ allowed: [] })]).toEqual([
      [],
      ['a'],
      ['b'],
      ['a', 'b'],
    ])
  })

  it('that holds only a comment is empty, and one that holds no object is refused', () => {
    expect(client('cursor').parse('// nothing yet\n').servers.size).toBe(0)
    expect(() => client('cursor').parse('[1]')).toThrow(
      'This is not valid JSON: an object is expected (line 1, column 1).',
    )
    expect(() => client('codex').parse('a = 1\nb = = 2')).toThrow(
      /^This is not valid TOML: [a-z][^\n]* \(line 2, column 5\)\.$/,
    )
  })

  it('may be as deep as the limit, and as wide as it likes', () => {
    const { depth, entriesPerFile } = CONFIG_LIMITS
    const nested = (levels: number) => parseJsonTree('['.repeat(levels) + ']'.repeat(levels)).kind
    expect([nested(depth), nested(depth + 1)]).toEqual(['tree', 'fault'])
    const objects = (levels: number) => parseJsonTree(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`).kind
    expect([objects(depth), objects(depth + 1)]).toEqual(['tree', 'fault'])
    expect(parseJsonTree(`[${'[{}],'.repeat(100)}]`).kind).toBe('tree')
    expect(parseJsonTree(`[${'{"a":[]},'.repeat(100)}]`).kind).toBe('tree')
    const many = (count: number) => {
      const mcpServers = Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, x]))
      const { servers, notes } = client('cursor').parse(JSON.stringify({ mcpServers }))
      return [servers.size, ...said(notes)]
    }
    expect(many(entriesPerFile)).toEqual([entriesPerFile])
    expect(many(entriesPerFile + 1)).toEqual([
      entriesPerFile,
      `: Only the first ${entriesPerFile} servers are converted.`,
    ])
  })

  it('knows the position of every node', () => {
    const tree = parseJsonTree('{\n  "a": 1,\n  "b": [2,\n3]\n}')
    if (tree.kind !== 'tree') throw new Error(tree.kind)
    const [a, b] = tree.root.children?.map(({ children }) => children?.[1]) ?? []
    const places = [tree.root, a, b, ...(b?.children ?? [])].map((node) => node && tree.position(node))
    expect(places.map((place) => `${place?.line}:${place?.column}`)).toEqual([
      '1:1',
      '2:8',
      '3:8',
      '3:9',
      '4:1',
    ])
  })

  it('keeps a name of the longest length and shortens a longer one', () => {
    const longest = 'n'.repeat(CONFIG_LIMITS.nameLength)
    const { servers } = client('cursor').parse(
      JSON.stringify({ mcpServers: { [longest]: x, [`${longest}n`]: x } }),
    )
    expect([...servers.keys()]).toEqual([longest, longest.slice(6)])
  })
})

describe('an entry of ours for a client', () => {
  const print = (id: Id, entry: WrittenEntry) => {
    const { text, notes } = client(id).print(new Map([['s', entry]]))
    return { entry: id === 'codex' ? text : JSON.parse(text), notes: said(notes) }
  }

  it.each<[Id, WrittenEntry, string[]]>([
    ['codex', { type: 'stdio' }, [`s.command: ${out('a command')}`]],
    ['codex', {}, [`s.url: ${out('a command or a url')}`]],
    ['codex', { type: 'http' }, [`s.url: ${out('a command or a url')}`]],
    [
      'codex',
      { type: 'sse', ...remote },
      ['s.type: Codex cannot connect to this kind of server; the server is left out.'],
    ],
    ['codex', remote, ['s.type: Codex takes this URL for HTTP and does not fall back to SSE.']],
    [
      'claude-desktop',
      remote,
      ['s.type: Claude Desktop cannot connect to this kind of server; the server is left out.'],
    ],
    [
      'opencode',
      { type: 'sse', ...remote },
      ['s.type: opencode finds out by itself whether a URL is HTTP or SSE; "sse" is left out.'],
    ],
    [
      'windsurf',
      { type: 'http', ...remote },
      ['s.type: Windsurf finds out by itself whether a URL is HTTP or SSE; "http" is left out.'],
    ],
    [
      'cursor',
      { type: 'ws', ...remote },
      ['s.type: Cursor has no such kind of server; the server is left out.'],
    ],
    [
      'cursor',
      { ...x, disabled: true },
      ['s.disabled: It is disabled, and Cursor has no switch for that; the server is left out.'],
    ],
    ['cursor', { ...x, disabled: false }, []],
    [
      'cursor',
      { ...x, args: ['${A:-b}'] },
      ['s.args[0]: Cursor has no default for a variable: the one of A is left out.'],
    ],
    ['cursor', { ...x, args: ['${A}'] }, []],
    [
      'cursor',
      { ...x, args: ['{env:A}'] },
      ['s.args[0]: Part of this text is plain here, but Cursor takes it for a variable.'],
    ],
    [
      'cursor',
      { ...x, args: ['${A} {env:B}'] },
      ['s.args[0]: Part of this text is plain here, but Cursor takes it for a variable.'],
    ],
    [
      'codex',
      { ...x, args: ['${A}'] },
      ['s.args[0]: Codex does not fill in variables: put the value in place of ${A}.'],
    ],
    [
      'codex',
      { ...x, env: { A: '${A}', B: '-${B}', C: 'c' } },
      ['s.env.B: Codex does not fill in variables: put the value in place of ${B}.'],
    ],
    [
      'codex',
      { type: 'http', ...remote, headers: { A: 'x ${B}', C: '$env:C' } },
      ['s.headers.A: Codex does not fill in variables: put the value in place of ${B}.'],
    ],
    ['gemini', { ...x, disabled: true }, []],
    ['gemini', { ...x, alwaysLoad: true }, ['s.alwaysLoad: Gemini CLI has no counterpart.']],
  ])('%s: %j', (id, entry, notes) => {
    expect(print(id, entry).notes).toEqual(notes)
  })

  it('has in Codex the variables that Codex passes on by name', () => {
    const env = print('codex', { ...x, env: { A: '${A}', B: 'b' } }).entry
    expect(env).toBe('[mcp_servers.s]\ncommand = "x"\nenv_vars = [ "A" ]\n\n[mcp_servers.s.env]\nB = "b"\n')
    expect(print('codex', { ...x, env: { B: 'b' } }).entry).not.toContain('env_vars')
    const headers = {
      Authorization: 'Bearer ${T}',
      authorization: 'Bearer ${U}',
      X: 'Bearer ${V}',
      Y: '${W}',
    }
    const remoteText = print('codex', { type: 'http', ...remote, headers }).entry
    expect(remoteText).toContain('bearer_token_env_var = "T"')
    expect(remoteText).toContain('authorization = "Bearer ${U}"')
    expect(remoteText).toContain('X = "Bearer ${V}"')
    expect(remoteText).toContain('[mcp_servers.s.env_http_headers]\nY = "W"')
  })

  it('has what the client says where, and nothing of what is not said', () => {
    expect(print('gemini', { ...x, disabled: true }).entry).toEqual({
      mcp: { excluded: ['s'] },
      mcpServers: { s: x },
    })
    expect(print('gemini', x).entry).toEqual({ mcpServers: { s: x } })
    expect(print('opencode', { ...x, disabled: true }).entry.mcp.s).toEqual({
      type: 'local',
      command: ['x'],
      enabled: false,
    })
    expect(print('windsurf', { ...remote, disabled: true }).entry.mcpServers.s).toEqual({
      serverUrl: remote.url,
      disabled: true,
    })
  })
})

it('shows text of a file up to a length, without what could act on a terminal', () => {
  expect(excerpt('a'.repeat(200))).toBe('a'.repeat(200))
  expect(excerpt('a'.repeat(201))).toBe(`${'a'.repeat(200)}…`)
  expect(excerpt('\u001b[2J\u202e')).toBe('\\u001b[2J\\u202e')
})

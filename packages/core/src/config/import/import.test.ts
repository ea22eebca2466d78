// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files are the subject here.
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ParseError } from '../../errors.ts'
import { CLIENTS, type ClientFormat, findClient, type ImportNote, type WrittenEntry } from './index.ts'

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8')

function client(id: string): ClientFormat {
  const found = findClient(id)
  if (!found) throw new Error(`no client ${id}`)
  return found
}

const named = (notes: readonly ImportNote[]) =>
  notes.map(({ server, field }) => [server, field].filter(Boolean).join(': ')).sort()

describe('each client’s documented format', () => {
  it('Claude Desktop: local servers, where ${X} was never a variable', () => {
    const { servers, notes } = client('claude-desktop').parse(fixture('claude-desktop.json'))
    expect(Object.fromEntries(servers)).toEqual({
      filesystem: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/username/Desktop'],
      },
      github: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: '<YOUR_TOKEN>', HOME_OF: '${HOME}' },
      },
    })
    expect(named(notes)).toEqual(['github: env.HOME_OF'])
  })

  it('Cursor: its variables, its login, and an environment file that is not read', () => {
    const { servers, notes } = client('cursor').parse(fixture('cursor.json'))
    expect(Object.fromEntries(servers)).toEqual({
      'local-server': {
        command: 'python',
        args: ['${PWD}/tools/mcp_server.py', '--home', '${HOME}'],
        env: { API_KEY: '${API_KEY}' },
      },
      'remote-server': {
        url: 'https://api.example.com/mcp',
        headers: { Authorization: 'Bearer ${MY_SERVICE_TOKEN}' },
      },
      older: { type: 'sse', url: 'http://localhost:3000/sse' },
      'with-login': {
        url: 'https://api.example.com/mcp',
        oauth: { clientId: '${MCP_CLIENT_ID}', scopes: ['read', 'write'] },
      },
      off: { command: 'uvx', args: ['off'], disabled: true },
    })
    expect(named(notes)).toEqual([
      'local-server: args[0]',
      'local-server: envFile',
      'with-login: auth.CLIENT_SECRET',
    ])
  })

  it('VS Code: an input becomes a variable of its own, and a note says which to set', () => {
    const { servers, notes } = client('vscode').parse(fixture('vscode.json'))
    expect(Object.fromEntries(servers)).toEqual({
      perplexity: {
        command: 'npx',
        args: ['-y', 'server-perplexity-ask', '--root', '${PWD}', '--odd', '${config:editor.tabSize}'],
        env: {
          PERPLEXITY_API_KEY: '${PERPLEXITY_KEY}',
          OTHER: '${PERPLEXITY_KEY_2}',
          REGION: '${REGION:-eu}',
          PORT: '3000',
        },
        cwd: 'server',
      },
      github: {
        type: 'http',
        url: 'https://api.githubcopilot.com/mcp/',
        headers: { Authorization: 'Bearer ${GITHUB_TOKEN}' },
      },
      slack: { type: 'http', url: 'https://mcp.slack.com/mcp', oauth: { clientId: 'example-client-id' } },
      older: { type: 'sse', url: 'http://localhost:3000/sse' },
      'Play-wright': { command: 'npx', args: ['@playwright/mcp@latest'] },
    })
    expect(named(notes)).toEqual([
      'Play-wright: name',
      'inputs.perplexity-key',
      'inputs.perplexity_key',
      'inputs.region',
      'perplexity: args[3]',
      'perplexity: args[5]',
      'perplexity: dev',
      'perplexity: env.UNSET',
      'perplexity: envFile',
      'perplexity: sandbox',
      'perplexity: sandboxEnabled',
    ])
    const key = notes.find((note) => note.field === 'inputs.perplexity-key')
    expect(key?.message).toContain('PERPLEXITY_KEY')
    expect(key?.message).toContain('Perplexity API Key')
    expect(notes.find((note) => note.field === 'name')?.message).toContain(
      '"Play wright!" is now "Play-wright"',
    )
  })

  it('VS Code: an input is not answered with a variable that the machine sets for itself', () => {
    const { servers } = client('vscode').parse(
      '{"servers":{"a":{"command":"x","args":["${input:path}","${input:a}","${input:A_2}","${input:A}"]}}}',
    )
    expect(servers.get('a')).toEqual({ command: 'x', args: ['${INPUT_PATH}', '${A}', '${A_2}', '${A_3}'] })
  })

  it('VS Code: the older place inside settings.json', () => {
    const { servers, notes } = client('vscode').parse(fixture('vscode-settings.json'))
    expect(Object.fromEntries(servers)).toEqual({
      memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'], env: { T: '${TOKEN}' } },
    })
    expect(named(notes)).toEqual(['inputs.token'])
    expect(client('vscode').parse('{"editor.tabSize": 2}')).toEqual({ servers: new Map(), notes: [] })
  })

  it('Codex: fields that name a variable become variables, seconds become milliseconds', () => {
    const { servers, notes } = client('codex').parse(fixture('codex.toml'))
    expect(Object.fromEntries(servers)).toEqual({
      context7: {
        command: 'npx',
        args: ['-y', '@upstash/context7-mcp'],
        env: { LOCAL_TOKEN: '${LOCAL_TOKEN}', MY_ENV_VAR: 'MY_ENV_VALUE' },
        cwd: '/srv/context7',
        timeout: 45_500,
        connectTimeout: 20_000,
        disabled: true,
        permissions: { allowedTools: ['search', 'summarize'], deniedTools: ['slow-tool'] },
      },
      figma: {
        type: 'http',
        url: 'https://mcp.figma.com/mcp',
        headers: {
          'X-Figma-Region': 'us-east-1',
          'X-Team': '${FIGMA_TEAM}',
          Authorization: 'Bearer ${FIGMA_OAUTH_TOKEN}',
        },
        headersHelper: 'print-headers',
        oauth: { clientId: 'id', callbackPort: 7777, scopes: ['files:read'] },
      },
    })
    expect(named(notes)).toEqual([
      'context7: env_vars[1]',
      'figma: oauth.client_secret',
      'figma: required',
      'mcp_oauth_callback_port',
    ])
  })

  it('Gemini: three spellings of a variable, two kinds of URL, and a list that switches servers off', () => {
    const { servers, notes } = client('gemini').parse(fixture('gemini.json'))
    expect(Object.fromEntries(servers)).toEqual({
      pythonTools: {
        command: 'python',
        args: ['-m', 'my_mcp_server', '--port', '8080'],
        cwd: './mcp-servers/python',
        env: {
          DATABASE_URL: '${DB_CONNECTION_STRING}',
          API_KEY: '${EXTERNAL_API_KEY}',
          WIN: '${APPDATA}',
          REGION: '${REGION:-eu}',
        },
        timeout: 15_000,
        description: 'Python tools',
        permissions: { allowedTools: ['safe_tool', 'file_reader'], deniedTools: ['file_deleter'] },
      },
      httpServer: {
        type: 'http',
        url: 'http://localhost:3000/mcp?q=caf%C3%A9',
        headers: { Authorization: 'Bearer ${TOKEN}' },
        timeout: 5000,
      },
      sseServer: { type: 'sse', url: 'http://localhost:8080/sse' },
      untyped: { url: 'https://api.example.com/mcp' },
      typed: { type: 'http', url: 'https://api.example.com/mcp' },
      googleCloudServer: {
        type: 'http',
        url: 'https://my-gcp-service.run.app/mcp',
        oauth: { clientId: 'id', scopes: ['https://www.googleapis.com/auth/userinfo.email'] },
      },
      experimental: { command: 'experimental-server', disabled: true },
    })
    expect(named(notes)).toEqual([
      'googleCloudServer: authProviderType',
      'googleCloudServer: oauth.clientSecret',
      'pythonTools: trust',
    ])
  })

  it('opencode: one list for command and arguments, and files that are not read', () => {
    const { servers, notes } = client('opencode').parse(fixture('opencode.jsonc'))
    expect(Object.fromEntries(servers)).toEqual({
      'my-local-mcp-server': {
        command: 'npx',
        args: ['-y', 'my-mcp-command'],
        env: { MY_ENV_VAR: '${MY_VALUE}', SECRET: '{file:~/.secrets/key}' },
        cwd: './tools',
        timeout: 10_000,
      },
      'my-remote-mcp': {
        url: 'https://my-mcp-server.com',
        headers: { Authorization: 'Bearer ${MY_API_KEY}' },
        disabled: true,
      },
      'with-login': {
        url: 'https://mcp.example.com/mcp',
        oauth: {
          clientId: '${MY_MCP_CLIENT_ID}',
          scopes: ['tools:read', 'tools:execute'],
          callbackPort: 19876,
        },
      },
      'no-login': { url: 'https://mcp.example.com/mcp' },
    })
    expect(named(notes)).toEqual([
      'from-organisation: type',
      'my-local-mcp-server: environment.SECRET',
      'no-login: oauth',
      'with-login: oauth.clientSecret',
    ])
  })

  it('opencode, version 2: servers under mcp.servers', () => {
    const { servers, notes } = client('opencode').parse(fixture('opencode-v2.jsonc'))
    expect(Object.fromEntries(servers)).toEqual({
      everything: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-everything'],
        cwd: '.',
        disabled: true,
      },
    })
    expect(named(notes)).toEqual(['mcp.timeout'])
  })

  it('Windsurf: serverUrl, disabled tools, and a file that is not read', () => {
    const { servers, notes } = client('windsurf').parse(fixture('windsurf.json'))
    expect(Object.fromEntries(servers)).toEqual({
      github: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: '${GITHUB_TOKEN}' },
        disabled: true,
        permissions: { deniedTools: ['delete_repo'] },
      },
      'remote-http-mcp': {
        url: 'https://example.com/mcp',
        headers: { API_KEY: 'Bearer ${AUTH_TOKEN}', KEY: '${file:/run/secrets/key}' },
      },
      older: { url: 'https://example.com/sse' },
    })
    expect(named(notes)).toEqual(['github: alwaysAllow', 'remote-http-mcp: headers.KEY'])
  })

  it('carries no client secret and no password anywhere', () => {
    for (const [id, file] of FIXTURES) {
      const { servers, notes } = client(id).parse(fixture(file))
      expect(JSON.stringify([[...servers], notes]), id).not.toContain('do-not-carry-me')
    }
  })
})

const FIXTURES = [
  ['claude-desktop', 'claude-desktop.json'],
  ['cursor', 'cursor.json'],
  ['vscode', 'vscode.json'],
  ['vscode', 'vscode-settings.json'],
  ['codex', 'codex.toml'],
  ['gemini', 'gemini.json'],
  ['opencode', 'opencode.jsonc'],
  ['opencode', 'opencode-v2.jsonc'],
  ['windsurf', 'windsurf.json'],
] as const

describe('round trips', () => {
  it.each(FIXTURES)('%s: exporting what was imported from %s loses only what a note names', (id, file) => {
    const first = client(id).parse(fixture(file))
    const printed = client(id).print(first.servers)
    const second = client(id).parse(printed.text)
    expectOnlyNamedLosses(first.servers, second.servers, printed.notes)
  })

  it.each([
    [
      'claude-desktop',
      [
        'stdio.cwd',
        'stdio.description',
        'stdio.permissions.allowedTools',
        'stdio.permissions.deniedTools',
        'stdio.timeout',
        'http.type',
        'sse.type',
        'url.type',
        'off.disabled',
      ],
    ],
    [
      'cursor',
      [
        'stdio.description',
        'stdio.permissions.allowedTools',
        'stdio.permissions.deniedTools',
        'stdio.timeout',
        'http.headersHelper',
        'http.oauth.callbackPort',
        'off.disabled',
      ],
    ],
    [
      'vscode',
      [
        'stdio.description',
        'stdio.permissions.allowedTools',
        'stdio.permissions.deniedTools',
        'stdio.timeout',
        'http.headersHelper',
        'http.oauth.callbackPort',
        'http.oauth.scopes',
        'off.disabled',
      ],
    ],
    ['codex', ['stdio.description', 'sse.type', 'url.type']],
    ['gemini', ['http.headersHelper', 'http.oauth.callbackPort']],
    [
      'opencode',
      [
        'stdio.description',
        'stdio.permissions.allowedTools',
        'stdio.permissions.deniedTools',
        'http.headersHelper',
        'http.type',
        'sse.type',
      ],
    ],
    [
      'windsurf',
      [
        'stdio.cwd',
        'stdio.description',
        'stdio.permissions.allowedTools',
        'stdio.timeout',
        'http.headersHelper',
        'http.oauth.callbackPort',
        'http.oauth.clientId',
        'http.oauth.scopes',
        'http.type',
        'sse.type',
      ],
    ],
  ] as const)('%s: carries everything but exactly this', (id, losses) => {
    const servers = new Map<string, WrittenEntry>([
      [
        'stdio',
        {
          command: 'npx',
          args: ['-y', 'x'],
          env: { A: 'b' },
          cwd: '/srv',
          timeout: 1500,
          description: 'd',
          permissions: { allowedTools: ['a'], deniedTools: ['b'] },
        },
      ],
      [
        'http',
        {
          type: 'http',
          url: 'https://x/mcp',
          headers: { H: 'v' },
          headersHelper: 'h',
          oauth: { clientId: 'id', scopes: ['r', 'w'], callbackPort: 7 },
        },
      ],
      ['sse', { type: 'sse', url: 'https://x/sse' }],
      ['url', { url: 'https://x/mcp' }],
      ['off', { command: 'x', disabled: true }],
    ])
    const { text, notes } = client(id).print(servers)
    expect(notes.map(({ server, field }) => `${server}.${field}`).sort()).toEqual([...losses].sort())
    expectOnlyNamedLosses(servers, client(id).parse(text).servers, notes)
  })

  it('puts Codex’s own fields back', () => {
    const codex = client('codex')
    const { text } = codex.print(codex.parse(fixture('codex.toml')).servers)
    expect(text).toContain('env_vars = [ "LOCAL_TOKEN" ]')
    expect(text).toContain('bearer_token_env_var = "FIGMA_OAUTH_TOKEN"')
    expect(text).toContain('tool_timeout_sec = 45.5')
    expect(text).toContain('X-Team = "FIGMA_TEAM"')
  })

  it('spells variables as each client does', () => {
    const servers = new Map([['a', { command: '${TOOL}', args: ['${PWD}/x', '${HOME}'], cwd: 'sub' }]])
    const spelled = Object.fromEntries(CLIENTS.map(({ id, print }) => [id, print(servers).text]))
    expect(spelled.cursor).toContain('"${env:TOOL}"')
    expect(spelled.cursor).toContain('"cwd": "${workspaceFolder}/sub"')
    expect(spelled.vscode).toContain('"${workspaceFolder}/x"')
    expect(spelled.vscode).toContain('"${userHome}"')
    expect(spelled.windsurf).toContain('"${env:HOME}"')
    expect(spelled.opencode).toContain('"{env:TOOL}"')
    expect(spelled.gemini).toContain('"${TOOL}"')
    expect(spelled['claude-desktop']).toContain('"${TOOL}"')
    expect(named(client('claude-desktop').print(servers).notes)).toEqual([
      'a: args[0]',
      'a: args[1]',
      'a: command',
      'a: cwd',
    ])
  })

  it('leaves out, and names, a disabled server that the client would start', () => {
    for (const id of ['claude-desktop', 'cursor', 'vscode']) {
      const { text, notes } = client(id).print(new Map([['off', { command: 'x', disabled: true }]]))
      expect(text).not.toContain('"x"')
      expect(named(notes)).toEqual(['off: disabled'])
    }
  })

  it('leaves out, and names, the kinds of server a client does not have', () => {
    for (const { id, print } of CLIENTS) {
      const { text, notes } = print(
        new Map<string, WrittenEntry>([
          ['socket', { type: 'ws', url: 'wss://example.com' }],
          ['own', { type: 'sdk' }],
        ]),
      )
      expect(text, id).not.toContain('example.com')
      expect(named(notes), id).toEqual(['own: type', 'socket: type'])
    }
    expect(named(client('codex').print(new Map([['s', { type: 'sse', url: 'https://x' }]])).notes)).toEqual([
      's: type',
    ])
  })

  it('names text that the client would take for a variable', () => {
    const { notes } = client('gemini').print(new Map([['a', { command: 'x', args: ['cost: $PRICE'] }]]))
    expect(named(notes)).toEqual(['a: args[0]'])
  })

  it.each(CLIENTS.map((each) => [each.id, each] as const))(
    '%s: any entry of ours, there and back',
    (_id, each) => {
      fc.assert(
        fc.property(fc.dictionary(serverName, entry, { maxKeys: 4 }), (record) => {
          const servers = new Map(Object.entries(record))
          const printed = each.print(servers)
          const back = each.parse(printed.text)
          expectOnlyNamedLosses(servers, back.servers, printed.notes)
        }),
        { numRuns: 200 },
      )
    },
  )
})

const serverName = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,12}$/).filter((name) => name !== 'constructor')
const variableText = fc.constantFrom(
  '${TOKEN}',
  'a ${TOKEN} b',
  '${PWD}/x',
  '${HOME}',
  '${REGION:-eu}',
  'Bearer ${TOKEN}',
)
const text = fc.oneof(fc.stringMatching(/^[a-zA-Z0-9 ./:@=_"\\é-]{1,20}$/), variableText)
const map = fc.dictionary(fc.stringMatching(/^[A-Z][A-Z_]{0,8}$/), fc.oneof(text, fc.constant('${TOKEN}')), {
  maxKeys: 3,
})
const tools = fc.array(fc.stringMatching(/^[a-z_]{1,10}$/), { maxLength: 3 })
const partly = <T extends Record<string, fc.Arbitrary<unknown>>>(model: T) =>
  fc.record(model, { requiredKeys: [] })
const common = {
  timeout: fc.integer({ min: 1, max: 1_000_000 }),
  disabled: fc.boolean(),
  description: fc.stringMatching(/^[a-z ]{1,20}$/),
  permissions: partly({
    allowedTools: tools,
    deniedTools: tools,
    writePermission: fc.constantFrom('ask', 'deny'),
  }),
  alwaysLoad: fc.boolean(),
  reconnect: fc.constant({ maxAttempts: 2 }),
}
const entry: fc.Arbitrary<WrittenEntry> = fc.oneof(
  fc.record(
    {
      ...common,
      type: fc.constant('stdio'),
      command: text,
      args: fc.array(text, { maxLength: 3 }),
      env: map,
      cwd: fc.constantFrom('.', './sub', 'sub/deeper', '../up', '/abs', '${HOME}/x', 'C:\\x'),
      inheritEnv: fc.boolean(),
    },
    { requiredKeys: ['command'] },
  ),
  fc.record(
    {
      ...common,
      type: fc.constantFrom('http', 'sse', 'streamable-http', 'ws'),
      url: fc.constantFrom('https://example.com/mcp', 'https://${HOST}/mcp', 'http://127.0.0.1:1/caf%C3%A9'),
      headers: map,
      headersHelper: fc.constant('print-headers'),
      oauth: partly({
        clientId: fc.constant('id'),
        callbackPort: fc.constant(7),
        scopes: tools.filter((list) => list.length > 0),
      }),
    },
    { requiredKeys: ['url'] },
  ),
)

/** Every field that differs is named by a note, or the whole server is. */
function expectOnlyNamedLosses(
  before: ReadonlyMap<string, WrittenEntry>,
  after: ReadonlyMap<string, WrittenEntry>,
  notes: readonly ImportNote[],
): void {
  for (const [name, original] of before) {
    const mine = notes.filter((note) => note.server === name).map((note) => note.field ?? '')
    const there = after.get(name)
    if (!there) {
      expect(mine, `${name} is gone without a note`).not.toEqual([])
      continue
    }
    const was = flat(normal(original))
    const is = flat(normal(there))
    for (const field of new Set([...was.keys(), ...is.keys()])) {
      if (JSON.stringify(was.get(field)) === JSON.stringify(is.get(field))) continue
      const said = mine.some(
        (note) => note === field || field.startsWith(`${note}.`) || field.startsWith(`${note}[`),
      )
      expect(said, `${name}: ${field} was ${was.get(field)}, is ${is.get(field)}; notes: ${mine}`).toBe(true)
    }
  }
  expect([...after.keys()].every((name) => before.has(name))).toBe(true)
}

/** Without what adds nothing: a default, an alias, an empty object. */
function normal(entry: WrittenEntry): WrittenEntry {
  const type = entry.type === 'stdio' ? undefined : entry.type === 'streamable-http' ? 'http' : entry.type
  return { ...entry, type, disabled: entry.disabled || undefined, args: entry.args ?? [] }
}

function flat(value: unknown, path = ''): Map<string, unknown> {
  if (typeof value !== 'object' || value === null) return new Map(value === undefined ? [] : [[path, value]])
  if (Array.isArray(value) && /(Tools|scopes)$/.test(path)) return new Map([[path, value]])
  return new Map(
    Object.entries(value).flatMap(([key, item]) => {
      const step = Array.isArray(value) ? `[${key}]` : path ? `.${key}` : key
      return [...flat(item, path + step)]
    }),
  )
}

describe('hostile and broken files', () => {
  it.each(CLIENTS.map((each) => [each.id, each] as const))(
    '%s: a broken text is a ParseError with its line',
    (id, each) => {
      const text = id === 'codex' ? 'a = 1\nb = = 2\n' : '{\n  "mcpServers": {,\n}'
      expect(() => each.parse(text)).toThrow(ParseError)
      expect(() => each.parse(text)).toThrow(/line 2/)
    },
  )

  it('does not repeat the text of a broken file, which may hold a secret', () => {
    let error: unknown
    try {
      client('codex').parse('[mcp_servers.a]\nenv = { TOKEN = "s3cret" \n')
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(ParseError)
    expect((error as ParseError).message).not.toContain('s3cret')
  })

  it('refuses a file nested so deep that the parser would overflow', () => {
    expect(() => client('cursor').parse(`{"mcpServers":${'['.repeat(200_000)}`)).toThrow(/nested deeper/)
    expect(() => client('codex').parse(`a = ${'['.repeat(200_000)}`)).toThrow(ParseError)
  })

  it('accepts a byte order mark, an empty file and a file without servers', () => {
    for (const each of CLIENTS) {
      expect(each.parse('').servers.size).toBe(0)
      expect(each.parse('\uFEFF').servers.size).toBe(0)
    }
    expect(client('cursor').parse('\uFEFF{"mcpServers":{"a":{"command":"x"}}}').servers.get('a')).toEqual({
      command: 'x',
    })
  })

  it('keeps the others when one server has a wrong shape, and names the field', () => {
    const { servers, notes } = client('cursor').parse(
      JSON.stringify({
        mcpServers: {
          good: { command: 'x' },
          number: { command: 5 },
          list: [],
          args: { command: 'x', args: 'y' },
          env: { command: 'x', env: { A: {} } },
          kind: { type: 'carrier-pigeon', url: 'https://x' },
          nothing: {},
        },
      }),
    )
    expect([...servers.keys()]).toEqual(['good'])
    expect(named(notes)).toEqual([
      'args: args',
      'env: env.A',
      'kind: type',
      'list',
      'nothing: command',
      'number: command',
    ])
  })

  it('lets no key reach a prototype', () => {
    const json =
      '{"mcpServers":{"__proto__":{"command":"evil"},"a":{"command":"x","env":{"__proto__":"1","B":"2"},"__proto__":{"disabled":true}}}}'
    for (const id of ['claude-desktop', 'cursor', 'windsurf', 'gemini']) {
      const { servers, notes } = client(id).parse(json)
      expect([...servers.keys()], id).toEqual(['a'])
      expect(servers.get('a'), id).toEqual({ command: 'x', env: { B: '2' } })
      expect(named(notes), id).toEqual(['__proto__', 'a: __proto__', 'a: env.__proto__'])
    }
    const toml =
      '[mcp_servers.__proto__]\ncommand = "evil"\n[mcp_servers.a]\ncommand = "x"\nenv_vars = ["__proto__"]\n'
    expect(Object.fromEntries(client('codex').parse(toml).servers)).toEqual({ a: { command: 'x' } })
    expect(({} as Record<string, unknown>).command).toBeUndefined()
  })

  it('makes names legal without two becoming one', () => {
    const mcpServers = {
      'a b': { command: '1' },
      'a-b': { command: '2' },
      'a/b': { command: '3' },
      日本: { command: '4' },
      аdmin: { command: '5' },
      '!__proto__': { command: '6' },
    }
    const { servers, notes } = client('windsurf').parse(JSON.stringify({ mcpServers }))
    expect([...servers].map(([name, { command }]) => [name, command])).toEqual([
      ['a-b-2', '1'],
      ['a-b', '2'],
      ['a-b-3', '3'],
      ['server', '4'],
      ['dmin', '5'],
      ['__proto__-2', '6'],
    ])
    expect(notes).toHaveLength(5)
  })

  it('takes any JSON for a file without throwing anything but ParseError', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 5 }),
        fc.constantFrom(...CLIENTS.filter(({ id }) => id !== 'codex')),
        (value, each) => {
          for (const key of ['mcpServers', 'servers', 'mcp', 'inputs'])
            each.parse(JSON.stringify({ inputs: value, [key]: value, extra: { a: value } }))
          each.parse(JSON.stringify({ mcpServers: { a: value }, servers: { a: value }, mcp: { a: value } }))
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('where each client keeps its files', () => {
  const place = { cwd: '/code/app', home: '/home/me', platform: 'linux', env: {} } as const

  it('names project files before the user’s', () => {
    for (const { id, files } of CLIENTS) {
      const scopes = files(place).map(({ scope }) => scope)
      expect(scopes, id).toEqual([...scopes].sort())
      expect(scopes, id).toContain('user')
    }
  })

  it('follows the platform and the environment', () => {
    const at = (id: string, over: object) =>
      client(id)
        .files({ ...place, ...over })
        .map(({ path }) => path)
    expect(at('claude-desktop', {})).toEqual(['/home/me/.config/Claude/claude_desktop_config.json'])
    expect(at('claude-desktop', { platform: 'darwin' })).toEqual([
      '/home/me/Library/Application Support/Claude/claude_desktop_config.json',
    ])
    expect(at('claude-desktop', { platform: 'win32', env: { APPDATA: 'C:\\A' } })).toEqual([
      'C:\\A\\Claude\\claude_desktop_config.json',
    ])
    expect(at('codex', { env: { CODEX_HOME: '/c' } })).toEqual([
      '/code/app/.codex/config.toml',
      '/c/config.toml',
    ])
    expect(at('vscode', {})[0]).toBe('/code/app/.vscode/mcp.json')
    expect(at('opencode', { env: { OPENCODE_CONFIG: '/o.json' } })).toContain('/o.json')
    expect(findClient('nobody')).toBeUndefined()
  })
})

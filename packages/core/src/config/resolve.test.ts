// Many documents → one verdict per name: precedence, exclusivity, suppression, reasons, rules; in any order.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ServerNotFound } from '../errors.ts'
import { type ConfigDocument, defineServer } from './document.ts'
import { hashOf } from './fingerprints.ts'
import { findResolution, pendingApprovals, type ResolveInput, resolveConfiguration } from './resolve.ts'
import type { Settings } from './settings.ts'
import type { Source } from './sources.ts'
import { NO_RECORDS, type ProjectRecords, type RecordKind } from './trust.ts'
import { SCOPES, type Scope } from './types.ts'

const cmd = (command: string, more: object = {}) => ({ command, ...more })

function doc(
  scope: Scope,
  servers: Record<string, unknown>,
  settings: Settings = {},
  more: Partial<Source> = {},
): ConfigDocument {
  const source: Source = {
    id: scope === 'project' ? 'mcp-json' : scope,
    scope,
    shape: 'settings',
    authorship: scope === 'project' || scope === 'local' ? 'repository' : 'user',
    file: `/${scope}.json`,
    product: 'plugboard',
    rank: SCOPES.indexOf(scope),
    ...more,
  }
  const definitions = Object.entries(servers).map(([name, written], at) =>
    defineServer(name, written, source, { line: at + 1 }),
  )
  return { source, definitions, settings, diagnostics: [] }
}

const resolve = (documents: ConfigDocument[], more: Partial<ResolveInput> = {}) =>
  resolveConfiguration({
    documents,
    root: '/p',
    env: {},
    records: NO_RECORDS,
    approveProject: false,
    folderTrusted: false,
    neutralFolder: '/home/me/.plugboard/run',
    ...more,
  })
const stateOf = (resolved: ReturnType<typeof resolve>, name: string) => {
  const server = resolved.servers.find((candidate) => candidate.name === name)
  return server && (server.disabled ? `${server.disabled.kind}: ${server.disabled.text}` : 'on')
}

describe('precedence', () => {
  const order: Scope[] = ['dynamic', 'local', 'project', 'user', 'plugin', 'managed', 'claudeai']
  const pairs = order.flatMap((strong, at) => order.slice(at + 1).map((weak) => [strong, weak] as const))

  it.each(pairs)('%s beats %s, by the whole entry', (strong, weak) => {
    const { servers, resolutions } = resolve([
      doc(weak, { a: cmd('weak', { env: { LEAK: '1' } }) }),
      doc(strong, { a: cmd('strong') }),
    ])
    expect(servers).toMatchObject([
      { name: 'a', scope: strong, source: `/${strong}.json`, entry: { command: 'strong', env: {} } },
    ])
    expect(resolutions.get('a')?.contenders.map(({ verdict }) => verdict)).toEqual([
      { kind: 'winner' },
      { kind: 'shadowed', by: `/${strong}.json` },
    ])
  })

  it('inside a scope goes by the row in the table', () => {
    const first = doc('user', { a: cmd('first') }, {}, { file: '/z.json', rank: 1 })
    const second = doc('user', { a: cmd('second') }, {}, { file: '/b.json', rank: 2 })
    expect(resolve([second, first]).servers).toMatchObject([{ source: '/z.json' }])
  })

  it('passes over an entry that is not valid, and says so', () => {
    const { servers, resolutions, diagnostics } = resolve([
      doc('local', { a: { command: 1 }, b: cmd('b') }),
      doc('user', { a: cmd('fine') }),
    ])
    expect(servers.map(({ name, scope }) => [name, scope])).toEqual([
      ['a', 'user'],
      ['b', 'local'],
    ])
    expect(resolutions.get('a')?.contenders.map(({ verdict }) => verdict.kind)).toEqual(['invalid', 'winner'])
    expect(diagnostics).toMatchObject([{ severity: 'error', server: 'a', file: '/local.json', line: 1 }])
  })

  it('a name that only invalid entries define is no server, but can be explained', () => {
    const resolved = resolve([doc('user', { a: {} })])
    expect(resolved.servers).toEqual([])
    expect(findResolution(resolved, 'a').contenders).toHaveLength(1)
    expect(() => findResolution(resolved, 'aa')).toThrow(ServerNotFound)
    expect(() => findResolution(resolved, 'aa')).toThrow(expect.objectContaining({ hint: 'Did you mean a?' }))
  })
})

describe('an enterprise file', () => {
  const documents = [
    doc('enterprise', { corp: cmd('c') }),
    doc('dynamic', { given: cmd('d'), handed: { type: 'sdk' } }),
    doc('user', { mine: cmd('u'), sly: { type: 'sdk' }, corp: cmd('imposter') }),
    doc('plugin', { plug: cmd('p') }),
  ]
  it('is exclusive, but for what the program hands over, and names everything it hides', () => {
    const resolved = resolve(documents, { exclusiveFile: '/managed-mcp.json' })
    expect(resolved.servers.map(({ name }) => name).sort()).toEqual(['corp', 'handed'])
    expect(resolved.hidden.map(({ name, scope }) => `${name} ${scope}`).sort()).toEqual([
      'corp user',
      'given dynamic',
      'mine user',
      'plug plugin',
      'sly user',
    ])
    expect(resolved.hidden[0]?.reason).toContain('/managed-mcp.json')
  })

  it('that could not be read hides everything as well', () => {
    expect(resolve([doc('user', { mine: cmd('u') })], { exclusiveFile: '/m' }).servers).toEqual([])
  })

  it('without it, all of them are there', () => {
    expect(resolve(documents).servers.map(({ name }) => name)).toEqual([
      'corp',
      'given',
      'handed',
      'mine',
      'plug',
      'sly',
    ])
  })
})

describe('a repeated server', () => {
  const weak: Scope[] = ['plugin', 'managed', 'claudeai']
  it.each(weak)('of scope %s steps back behind a hand-written one under another name', (scope) => {
    const resolved = resolve([
      doc('user', { mine: cmd('same', { args: ['1'], timeout: 9 }) }),
      doc(scope, { theirs: cmd('same', { args: ['1'] }), other: cmd('same', { args: ['2'] }) }),
    ])
    expect(stateOf(resolved, 'theirs')).toBe('suppressed: the same server as "mine"')
    expect(stateOf(resolved, 'other')).toBe('on')
  })

  it('is compared after expansion, and by the URL alone for remote ones', () => {
    const resolved = resolve(
      [
        doc('user', { mine: { url: 'https://${HOST}/mcp' } }),
        doc('plugin', { theirs: { type: 'sse', url: 'https://A.example/mcp/', headers: { x: 'y' } } }),
      ],
      { env: { HOST: 'a.example' } },
    )
    expect(stateOf(resolved, 'theirs')).toBe('suppressed: the same server as "mine"')
  })

  it('of two hand-written names stays twice', () => {
    const resolved = resolve([doc('user', { a: cmd('same') }), doc('dynamic', { b: cmd('same') })])
    expect([stateOf(resolved, 'a'), stateOf(resolved, 'b')]).toEqual(['on', 'on'])
  })

  it('is not suppressed by one that may not run: a repository cannot switch a plugin off', () => {
    const resolved = resolve([doc('project', { evil: cmd('same') }), doc('plugin', { good: cmd('same') })])
    expect([stateOf(resolved, 'evil'), stateOf(resolved, 'good')]).toEqual(['trust: pending approval', 'on'])
  })

  it('does not come back through a plugin when the user switched it off', () => {
    const resolved = resolve([
      doc('user', { mine: cmd('same') }, { disabledServers: ['mine'] }),
      doc('plugin', { theirs: cmd('same') }),
    ])
    expect(stateOf(resolved, 'theirs')).toContain('suppressed')
  })

  it('keeps the reason that policy gave it', () => {
    const resolved = resolve([
      doc('user', { mine: cmd('same') }, { deniedMcpServers: [{ serverName: 'theirs' }] }),
      doc('plugin', { theirs: cmd('same') }),
    ])
    expect(stateOf(resolved, 'theirs')).toContain('policy: denied')
  })

  it('is not seen where there is no content to compare', () => {
    const resolved = resolve([
      doc('user', { a: { type: 'sdk' }, b: { type: 'sse-ide' } }),
      doc('plugin', { c: { type: 'sdk' }, d: { type: 'sse-ide' } }),
    ])
    expect(['a', 'b', 'c', 'd'].map((name) => stateOf(resolved, name))).toEqual(['on', 'on', 'on', 'on'])
  })
})

describe('why a server is off', () => {
  const written = cmd('x')
  it.each<[string, ConfigDocument[], string]>([
    ['its entry', [doc('user', { a: cmd('x', { disabled: true }) })], 'config: disabled in its entry'],
    ['a list', [doc('user', { a: written }, { disabledServers: ['a'] })], 'user: switched off in /user.json'],
    [
      'a list of another file',
      [doc('dynamic', { a: written }), doc('local', {}, { disabledServers: ['a'] })],
      'user: switched off in /local.json',
    ],
    [
      'Claude Code’s list, for .mcp.json',
      [doc('project', { a: written }), doc('user', {}, { disabledMcpjsonServers: ['a'] })],
      'user: switched off in /user.json',
    ],
    [
      'not Claude Code’s list, for another file',
      [doc('user', { a: written }, { disabledMcpjsonServers: ['a'] })],
      'on',
    ],
    ['trust', [doc('project', { a: written })], 'trust: pending approval'],
    [
      'policy before anything else',
      [
        doc('project', { a: cmd('x', { disabled: true }) }),
        doc('user', {}, { allowedMcpServers: [], disabledServers: ['a'] }),
      ],
      'policy: not on the allow list, /user.json',
    ],
    [
      'not a policy that a project brings',
      [doc('user', { a: written }), doc('project', {}, { deniedMcpServers: [{ serverName: 'a' }] })],
      'on',
    ],
  ])('%s', (_, documents, state) => expect(stateOf(resolve(documents), 'a')).toBe(state))

  it('policy sees what the variables expand to', () => {
    const documents = [
      doc(
        'user',
        { a: { url: 'https://${HOST}/' } },
        { deniedMcpServers: [{ serverUrl: 'https://evil.test/*' }] },
      ),
    ]
    expect(stateOf(resolve(documents, { env: { HOST: 'evil.test' } }), 'a')).toContain('policy: denied')
  })

  it('an sdk entry in a file does not get past an allow list', () => {
    const list = doc('enterprise', {}, { allowedMcpServers: [] })
    expect(stateOf(resolve([list, doc('user', { a: { type: 'sdk' } })]), 'a')).toContain('policy')
    expect(stateOf(resolve([list, doc('dynamic', { a: { type: 'sdk' } })]), 'a')).toBe('on')
  })
})

describe('trust', () => {
  const records = (name: string, written: unknown, kind?: RecordKind): ProjectRecords => {
    const approval = { hash: hashOf(written), source: 's', approvedAt: '2026-01-01T00:00:00Z' }
    return { ...NO_RECORDS, approvals: new Map([[name, kind ? { ...approval, kind } : approval]]) }
  }

  it('is given to exactly the entry that was approved', () => {
    const entry = cmd('x', { args: ['a'] })
    expect(stateOf(resolve([doc('project', { a: entry })], { records: records('a', entry) }), 'a')).toBe('on')
    const changed = resolve([doc('project', { a: cmd('x', { args: ['b'] }) })], {
      records: records('a', entry),
    })
    expect(pendingApprovals(changed)).toMatchObject([
      { name: 'a', because: 'the entry changed since it was approved' },
    ])
    const renamed = resolve([doc('project', { b: entry })], { records: records('a', entry) })
    expect(stateOf(renamed, 'b')).toBe('trust: pending approval')
  })

  it('of a private file needs a record like any other file of the project', () => {
    const documents = [doc('local', { a: cmd('x') })]
    expect(stateOf(resolve(documents), 'a')).toBe('trust: pending approval')
    expect(stateOf(resolve(documents, { records: records('a', cmd('x')) }), 'a')).toBe('on')
    expect(stateOf(resolve(documents, { approveProject: true }), 'a')).toBe('on')
  })

  it('does not make a repository’s entry the user’s own; only a record that the user wrote it does', () => {
    const author = (kind?: RecordKind) =>
      resolve([doc('project', { a: cmd('x') })], { records: records('a', cmd('x'), kind) }).servers[0]?.author
    expect([author(), author('approved'), author('written')]).toEqual(['repository', 'repository', 'user'])
    const waved = resolve([doc('project', { a: cmd('x') })], { approveProject: true })
    expect(waved.servers[0]?.author).toBe('repository')
    expect(resolve([doc('user', { a: cmd('x') })]).servers[0]?.author).toBe('user')
  })

  it('says which server of the user’s own an entry of the repository replaces', () => {
    const documents = [doc('user', { a: cmd('mine') }), doc('project', { a: cmd('theirs') })]
    const resolved = resolve(documents)
    expect(resolved.servers[0]?.replaces).toBe('/user.json')
    expect(pendingApprovals(resolved)).toMatchObject([{ name: 'a', replaces: '/user.json' }])
    const written = resolve(documents, { records: records('a', cmd('theirs'), 'written') })
    expect(written.servers[0]?.replaces).toBeUndefined()
    expect(resolve([doc('project', { a: cmd('x') })]).servers[0]?.replaces).toBeUndefined()
  })
})

describe('the folder a program starts in', () => {
  const cwdOf = (document: ConfigDocument, more: Partial<ResolveInput> = {}) => {
    const entry = resolve([document], more).servers[0]?.entry
    return entry && 'cwd' in entry ? entry.cwd : undefined
  }
  const neutral = '/home/me/.plugboard/run/a'

  it.each<Scope>(['user', 'plugin', 'managed', 'claudeai', 'enterprise', 'dynamic'])(
    'is a neutral one for an entry of scope %s, unless the user trusts the folder or the entry says otherwise',
    (scope) => {
      expect(cwdOf(doc(scope, { a: cmd('npx') }))).toBe(neutral)
      expect(cwdOf(doc(scope, { a: cmd('npx') }), { folderTrusted: true })).toBe('/p')
      expect(cwdOf(doc(scope, { a: cmd('npx', { cwd: '/srv' }) }))).toBe('/srv')
      expect(cwdOf(doc(scope, { a: cmd('npx', { cwd: '${PLUGBOARD_PROJECT_DIR}' }) }))).toBe('/p')
    },
  )

  it.each<Scope>(['local', 'project'])('is the project for an entry of scope %s', (scope) => {
    expect(cwdOf(doc(scope, { a: cmd('npx') }))).toBe('/p')
  })

  const added = (scope: Scope, written: Record<string, unknown>, more: Partial<ResolveInput> = {}) => {
    const record = { hash: hashOf(written), source: '', approvedAt: '', kind: 'written' as const }
    const records = { ...NO_RECORDS, approvals: new Map([['a', record]]) }
    const { servers, resolutions } = resolve([doc(scope, { a: written })], { records, ...more })
    const entry = servers[0]?.entry
    return {
      cwd: entry && 'cwd' in entry ? entry.cwd : undefined,
      args: entry && 'args' in entry ? entry.args : undefined,
      notes: resolutions.get('a')?.notes,
    }
  }

  it.each<[string, string[], string]>([
    ['npx', ['-y', 'server-memory'], neutral],
    ['npx', ['-y', '@scope/server.js'], neutral],
    ['npx', ['chart.js'], neutral],
    ['npm', ['exec', '--', 'chart.js'], neutral],
    ['pnpm', ['dlx', 'chart.js'], neutral],
    ['/usr/bin/npx', ['chart.js'], neutral],
    ['npx', ['-y', 'server-filesystem', './data'], neutral],
    ['uvx', ['mcp-server.py'], neutral],
    ['uv', ['tool', 'run', 'mcp-server.py'], neutral],
    ['python3', ['-m', 'mcp_server_git'], neutral],
    ['deno', ['run', 'npm:server.js'], neutral],
    ['node', ['/opt/server.js'], neutral],
    ['docker', ['run', 'image'], neutral],
    ['node', ['server.js'], '/p'],
    ['node', ['--enable-source-maps', 'dist/server.mjs', '--root', '.'], '/p'],
    ['npx', ['tsx', 'src/server.ts'], '/p'],
    ['uv', ['run', 'python', 'server.py'], '/p'],
    ['python3', ['server.py'], '/p'],
    ['./run', [], '/p'],
    ['bin/run', [], '/p'],
  ])(
    'of what the user added to the project is neutral unless it names a script of it: %s %j',
    (command, args, folder) => {
      for (const scope of ['local', 'project'] as const) {
        const { cwd, notes } = added(scope, { command, args })
        expect(cwd).toBe(folder)
        expect(notes?.join() ?? '').toMatch(folder === neutral ? /neutral folder/ : /^$/)
        expect(added(scope, { command, args }, { folderTrusted: true }).cwd).toBe('/p')
      }
    },
  )

  it('of what the user added may be named in the entry, and paths in arguments keep their meaning', () => {
    const args = ['-y', 'x', './data', '--root=../up', '.', 'data', 'https://x.test/./y', '...']
    expect(added('local', { command: 'npx', args })).toMatchObject({
      cwd: neutral,
      args: ['-y', 'x', '/p/data', '--root=/up', '/p', 'data', 'https://x.test/./y', '...'],
    })
    expect(added('local', { command: 'npx', args: ['./x'], cwd: 'sub' })).toMatchObject({
      cwd: '/p/sub',
      args: ['./x'],
    })
    expect(added('local', { command: 'npx', args: ['./x'] }, { folderTrusted: true }).args).toEqual(['./x'])
  })

  it.each([
    ['gcloud auth print-access-token', neutral],
    ['./token.sh', '/p'],
    ['sh scripts/token.sh', '/p'],
  ])('of a helper the user added: %s', (headersHelper, helperCwd) => {
    const written = { url: 'https://x.test/', headersHelper }
    const record = { hash: hashOf(written), source: '', approvedAt: '', kind: 'written' as const }
    const records = { ...NO_RECORDS, approvals: new Map([['a', record]]) }
    expect(resolve([doc('local', { a: written })], { records }).servers[0]?.entry).toMatchObject({
      helperCwd,
    })
  })

  it('holds for helpers and hooks too', () => {
    const url = { url: 'https://x.test/', headersHelper: 'id' }
    const helper = (document: ConfigDocument) => resolve([document]).servers[0]?.entry
    expect(helper(doc('user', { a: url }))).toMatchObject({ helperCwd: neutral })
    expect(helper(doc('project', { a: url }))).toMatchObject({ helperCwd: '/p' })
    const hooks = { PreToolUse: [] }
    expect(resolve([doc('user', {}, { hooks })]).hooks).toMatchObject([{ cwd: '/home/me/.plugboard/run' }])
    expect(resolve([doc('user', {}, { hooks })], { folderTrusted: true }).hooks).toMatchObject([
      { cwd: '/p' },
    ])
  })
})

describe('what a settings file says', () => {
  const permissions = { allow: ['mcp__a', 'mcp__z', 'Bash(ls)'], ask: ['mcp__b'], deny: ['mcp__c'] }
  const hooks = { PreToolUse: [{ hooks: [{ type: 'command', command: 'x' }] }] }
  const recorded = (record: object): Partial<ResolveInput> => ({
    records: { ...NO_RECORDS, settings: new Map([['../local.json', record]]) },
  })
  const actions = (document: ConfigDocument, more: Partial<ResolveInput> = {}) =>
    resolve([document], more).rules.map(({ action, rule }) => `${action} ${rule}`)

  it('of the user all counts, as far as it speaks of MCP', () => {
    expect(actions(doc('user', {}, { permissions }))).toEqual([
      'deny mcp__c',
      'ask mcp__b',
      'allow mcp__a',
      'allow mcp__z',
    ])
  })

  it('of the shared file of a repository never allows, not even with a record', () => {
    expect(actions(doc('project', {}, { permissions }))).toEqual(['deny mcp__c', 'ask mcp__b'])
    const records = { ...NO_RECORDS, settings: new Map([['../project.json', { allow: ['mcp__a'] }]]) }
    expect(actions(doc('project', {}, { permissions }), { records })).toEqual(['deny mcp__c', 'ask mcp__b'])
  })

  it('of a private file allows what was approved, rule by rule, and the rest is told and waits', () => {
    const file = doc('local', {}, { permissions })
    expect(actions(file)).toEqual(['deny mcp__c', 'ask mcp__b'])
    expect(actions(file, recorded({ allow: ['mcp__a'] }))).toContain('allow mcp__a')
    const resolved = resolve([file], recorded({ allow: ['mcp__a'] }))
    expect(resolved.pendingSettings).toMatchObject([{ kind: 'allow', written: ['mcp__z'] }])
    const told = resolved.diagnostics.filter(({ topic }) => topic !== 'rules')
    expect(told).toMatchObject([{ path: 'permissions.allow', severity: 'warning' }])
    expect(actions(file, { approveProject: true })).toEqual(['deny mcp__c', 'ask mcp__b'])
  })

  it('of a private file runs hooks only as they were approved', () => {
    const file = doc('local', {}, { hooks })
    expect(resolve([file])).toMatchObject({ hooks: [], pendingSettings: [{ kind: 'hooks' }] })
    const same = resolve([file], recorded({ hooks: hashOf(hooks) }))
    expect(same).toMatchObject({ hooks: [{ cwd: '/p' }], pendingSettings: [], diagnostics: [] })
    expect(resolve([file], recorded({ hooks: hashOf({}) })).hooks).toEqual([])
  })

  it('warns of machine credentials that name no address', () => {
    const logins = { machines: { crm: { clientId: 'x' }, ok: { clientId: 'x', url: 'https://ok.test/' } } }
    expect(resolve([doc('user', {}, { logins })]).diagnostics).toMatchObject([
      { path: 'logins.machines.crm', message: expect.stringContaining('not used') },
    ])
  })
})

describe('variables', () => {
  it('that are missing are warned of with their place, once the server would run', () => {
    const warnings = (more: object) =>
      resolve([doc('user', { a: cmd('${NOPE}', { args: ['${ALSO:-x}'], ...more }) })]).diagnostics
    expect(warnings({})).toMatchObject([
      {
        severity: 'warning',
        file: '/user.json',
        line: 1,
        path: 'mcpServers.a.command',
        server: 'a',
        message: expect.stringContaining('NOPE'),
      },
    ])
    expect(warnings({ disabled: true })).toEqual([])
  })

  it('know the project folder, and a relative cwd is meant from where the entry starts', () => {
    const documents = [
      doc('user', {
        a: cmd('${PLUGBOARD_PROJECT_DIR}/run', { cwd: 'sub' }),
        b: cmd('x'),
        c: cmd('y', { cwd: '${PLUGBOARD_PROJECT_DIR}/sub' }),
      }),
    ]
    expect(resolve(documents).servers).toMatchObject([
      { entry: { command: '/p/run', cwd: '/home/me/.plugboard/run/a/sub' } },
      { entry: { cwd: '/home/me/.plugboard/run/b' } },
      { entry: { cwd: '/p/sub' } },
    ])
    expect(resolve(documents, { folderTrusted: true }).servers[0]).toMatchObject({ entry: { cwd: '/p/sub' } })
  })

  it('a bare url says what it became', () => {
    expect(resolve([doc('user', { a: { url: 'https://a/' } })]).resolutions.get('a')?.notes).toHaveLength(1)
  })
})

describe('over any set of documents', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd')
  const written = fc.constantFrom<unknown>(
    cmd('x'),
    cmd('y'),
    cmd('x', { disabled: true }),
    { url: 'https://u/' },
    { type: 'sdk' },
    {},
    3,
  )
  const names = fc.subarray(['a', 'b', 'c'])
  const matcher = fc.constantFrom({ serverName: 'a' }, { serverCommand: ['x'] }, { serverUrl: 'https://*' })
  const settings = fc.record(
    {
      disabledServers: names,
      allowedMcpServers: fc.array(matcher, { maxLength: 2 }),
      deniedMcpServers: fc.array(matcher, { maxLength: 1 }),
      permissions: fc.record(
        { allow: fc.constant(['mcp__a']), deny: fc.constant(['mcp__b']) },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: [] },
  )
  const documents = fc
    .array(
      fc.tuple(
        fc.constantFrom(...SCOPES),
        fc.dictionary(name, written, { maxKeys: 3, noNullPrototype: true }),
        settings,
      ),
      { maxLength: 6 },
    )
    .map((rows) =>
      rows.map(([scope, servers, more], rank) =>
        doc(scope, servers, more as Settings, { rank, file: `/${rank}.json` }),
      ),
    )
  const exclusiveFile = fc.option(fc.constant('/m.json'), { nil: undefined })

  it('the outcome is the same in whatever order the files were read', () => {
    fc.assert(
      fc.property(
        documents.chain((list) =>
          fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
        ),
        exclusiveFile,
        ([list, shuffled], file) => {
          expect(resolve(shuffled, { exclusiveFile: file })).toEqual(resolve(list, { exclusiveFile: file }))
        },
      ),
      { numRuns: 300 },
    )
  })

  it('every name has at most one winner, no weaker than any other valid definition, and is in one place only', () => {
    fc.assert(
      fc.property(documents, exclusiveFile, (list, file) => {
        const { servers, resolutions, hidden } = resolve(list, { exclusiveFile: file })
        expect(new Set(servers.map((server) => server.name)).size).toBe(servers.length)
        for (const { contenders, server } of resolutions.values()) {
          const winners = contenders.filter(({ verdict }) => verdict.kind === 'winner')
          expect(winners).toHaveLength(server ? 1 : 0)
          const rank = (scope: Scope) => SCOPES.indexOf(scope)
          for (const { definition, verdict } of contenders)
            if (server && verdict.kind === 'shadowed')
              expect(rank(definition.source.scope)).toBeGreaterThanOrEqual(rank(server.scope))
        }
        // No definition disappears silently.
        const written = list.flatMap(({ definitions }) => definitions).length
        expect([...resolutions.values()].flatMap(({ contenders }) => contenders)).toHaveLength(written)
        if (!file) expect(hidden).toEqual([])
        else
          for (const { scope, entry } of servers)
            expect(scope === 'enterprise' || (scope === 'dynamic' && entry.type === 'sdk')).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('nothing of an unapproved project runs, and none of its rules allows', () => {
    fc.assert(
      fc.property(documents, (list) => {
        const { servers, rules } = resolve(list)
        expect(servers.filter(({ scope, disabled }) => scope === 'project' && !disabled)).toEqual([])
        expect(rules.filter(({ action, scope }) => scope === 'project' && action === 'allow')).toEqual([])
      }),
      { numRuns: 200 },
    )
  })
})

describe('of two files in the same row', () => {
  const at = (file: string, line: number, command: string): ConfigDocument => {
    const from = doc('plugin', {}, {}, { file, rank: 3 })
    return { ...from, definitions: [defineServer('a', cmd(command), from.source, { line })] }
  }
  it.each([
    ['the first by name counts', at('/a.json', 9, 'wins'), at('/b.json', 1, 'loses')],
    ['the upper line of one file counts', at('/a.json', 2, 'wins'), at('/a.json', 5, 'loses')],
  ])('%s, whichever was read first', (_, wins, loses) => {
    for (const documents of [
      [wins, loses],
      [loses, wins],
    ])
      expect(resolve(documents).servers).toMatchObject([{ entry: { command: 'wins' } }])
  })
})

describe('a url with variables', () => {
  const remote = (url: string) => doc('user', { a: { type: 'http', url } })
  const broken = (why: string) => `config: its url is not a URL with its variables filled in (${why})`
  it.each<[string, Record<string, string>, string]>([
    ['https://x.example/mcp', {}, 'on'],
    ['${URL}', { URL: 'https://x.example/mcp' }, 'on'],
    ['${URL}', {}, broken('URL is not set')],
    ['${URL}', { URL: 'nonsense' }, broken('check URL')],
    ['${URL}${PATH_PART}', { PATH_PART: '/mcp' }, broken('URL is not set')],
    ['${URL}${PATH_PART}', { URL: 'x', PATH_PART: '/mcp' }, broken('check URL, PATH_PART')],
    ['https://${HOST:-x.example}/mcp', {}, 'on'],
  ])('%s with %j is %s', (url, env, state) => {
    expect(stateOf(resolve([remote(url)], { env }), 'a')).toBe(state)
  })

  it('is told of where it stands, with what to do', () => {
    const { diagnostics } = resolve([doc('user', { a: cmd('x', { args: ['${GONE}', '${HERE}'] }) })], {
      env: { HERE: '1' },
    })
    expect(diagnostics).toStrictEqual([
      {
        severity: 'warning',
        file: '/user.json',
        line: 1,
        path: 'mcpServers.a.args[0]',
        server: 'a',
        message: 'the environment variable GONE is not set',
        hint: 'Set it, or write ${GONE:-default}.',
      },
    ])
  })
})

describe('whose a server is', () => {
  it('is the repository’s when the file that the user named lies in the project', () => {
    const author = (fromProject: boolean) =>
      resolve([doc('dynamic', { a: cmd('x') }, {}, fromProject ? { fromProject } : {})]).servers[0]?.author
    expect([author(true), author(false)]).toEqual(['repository', 'user'])
  })

  it('says which server of the user’s own a repository’s entry replaces', () => {
    const replaces = (...documents: ConfigDocument[]) => resolve(documents).servers[0]?.replaces
    const project = doc('project', { a: cmd('x') })
    expect(replaces(project, doc('user', { a: cmd('y') }))).toBe('/user.json')
    expect(replaces(project, doc('user', { b: cmd('y') }))).toBeUndefined()
    expect(replaces(project, doc('user', { a: cmd('y') }, {}, { authorship: 'repository' }))).toBeUndefined()
    expect(replaces(doc('dynamic', { a: cmd('x') }), doc('user', { a: cmd('y') }))).toBeUndefined()
  })

  it('a definition that says why there is no server of it is off, not invalid', () => {
    const off = doc('user', {})
    const definition = { ...defineServer('a', cmd('x'), off.source), absentBecause: 'it is switched off' }
    const { servers, resolutions } = resolve([{ ...off, definitions: [definition] }])
    expect(servers).toEqual([])
    expect(resolutions.get('a')?.contenders.map(({ verdict }) => verdict)).toEqual([
      { kind: 'off', why: 'it is switched off' },
    ])
  })
})

describe('the note about a neutral folder', () => {
  const NEUTRAL = 'It starts in a neutral folder'
  const noted = (document: ConfigDocument, more: Partial<ResolveInput> = {}) =>
    resolve([document], more)
      .resolutions.get('a')
      ?.notes.some((note) => note.startsWith(NEUTRAL))
  it.each<[string, ConfigDocument, boolean]>([
    ['the user’s server', doc('user', { a: cmd('x') }), true],
    ['with a folder that is named whole', doc('user', { a: cmd('x', { cwd: '/y' }) }), false],
    ['with a folder in the project', doc('user', { a: cmd('x', { cwd: 'sub' }) }), true],
    ['a remote server', doc('user', { a: { type: 'http', url: 'https://x' } }), false],
  ])('%s: %s', (_, document, expected) => {
    expect(noted(document)).toBe(expected)
    expect(noted(document, { folderTrusted: true })).toBe(false)
  })

  it('a bare url says that it may fall back', () => {
    const notes = (written: object) => resolve([doc('user', { a: written })]).resolutions.get('a')?.notes
    expect(notes({ url: 'https://x' })).toEqual([
      'It has a "url" and no "type": Streamable HTTP, and the legacy SSE transport if that answers 4xx.',
    ])
    expect(notes({ type: 'http', url: 'https://x' })).toEqual([])
  })
})

describe('copies of one server', () => {
  const remote = { type: 'http', url: 'https://x.example/mcp' }
  it('of plugins are suppressed by name, those that the user wrote are not', () => {
    const states = (...documents: ConfigDocument[]) => {
      const resolved = resolve(documents)
      return Object.fromEntries(resolved.servers.map(({ name }) => [name, stateOf(resolved, name)]))
    }
    expect(states(doc('plugin', { b: remote, a: remote, c: cmd('x') }))).toEqual({
      a: 'on',
      b: 'suppressed: the same server as "a"',
      c: 'on',
    })
    expect(states(doc('user', { b: remote, a: remote }), doc('plugin', { aa: remote }))).toEqual({
      a: 'on',
      b: 'on',
      aa: 'suppressed: the same server as "a"',
    })
  })
})

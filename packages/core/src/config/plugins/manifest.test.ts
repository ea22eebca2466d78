// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of manifests are the subject here.
import { describe, expect, it } from 'vitest'
import { readManifest, type UserValues } from './manifest.ts'

const LINUX = { file: '/b.mcpb', folder: '/cache/b', home: '/home/me', platform: 'linux' } as const
const WINDOWS = {
  file: 'C:\\b.mcpb',
  folder: 'C:\\cache',
  home: 'C:\\Users\\me',
  platform: 'win32',
} as const

const node = (config: object = {}) => ({
  name: 'hello',
  server: { type: 'node', mcp_config: { command: 'node', ...config } },
})
const entryOf = (manifest: object, values: UserValues = {}, place: typeof LINUX | typeof WINDOWS = LINUX) =>
  readManifest(manifest, values, place).server?.entry

describe('a manifest that describes no server', () => {
  const hint = 'Ask its author for a bundle that follows the MCPB manifest.'
  const config = (mcp_config: unknown) => ({ name: 'x', server: { type: 'node', mcp_config } })
  const noUsableName = ['name', 'The manifest has no usable name.']
  const noServer = ['server', 'The manifest does not say what server it brings.']
  const noType = ['server.type', 'The type of its server is not node, python, binary or uv.']
  it.each([
    [[], ['manifest.json', 'The manifest is not an object.']],
    [{ server: { type: 'node' } }, noUsableName],
    [{ name: '' }, noUsableName],
    [{ name: '__proto__' }, noUsableName],
    [{ name: 5 }, noUsableName],
    [{ name: 'x' }, noServer],
    [{ name: 'x', server: 'node' }, noServer],
    [{ name: 'x', server: {} }, noType],
    [{ name: 'x', server: { type: 'toString' } }, noType],
    [{ name: 'x', server: { type: 'perl' } }, noType],
    [
      { name: 'x', server: { type: 'node' } },
      ['server.mcp_config', 'The manifest has neither mcp_config nor an entry_point inside the bundle.'],
    ],
    [config('node x.js'), ['server.mcp_config', 'mcp_config is not an object.']],
    [config({}), ['server.mcp_config', 'mcp_config.command is not a text.']],
    [config({ command: '' }), ['server.mcp_config', 'mcp_config.command is not a text.']],
    [
      config({ command: 'node', args: 'x' }),
      ['server.mcp_config', 'mcp_config.args is not a list of texts.'],
    ],
    [
      config({ command: 'node', args: ['x', 1] }),
      ['server.mcp_config', 'mcp_config.args is not a list of texts.'],
    ],
    [
      config({ command: 'node', env: { A: 'x', B: 1 } }),
      ['server.mcp_config', 'mcp_config.env is not an object of texts.'],
    ],
  ])('says why: %j', (manifest, [path, message]) => {
    expect(readManifest(manifest, {}, LINUX)).toStrictEqual({
      diagnostics: [{ severity: 'error', file: '/b.mcpb', path, message, hint }],
    })
  })
})

describe('how a bundle’s server is started', () => {
  it('has what the manifest says and nothing else', () => {
    expect(readManifest(node(), {}, LINUX)).toStrictEqual({
      server: { name: 'hello', entry: { command: 'node', args: [], env: {}, cwd: '/cache/b' } },
      diagnostics: [],
    })
    expect(entryOf({ ...node(), description: 'Says hello' })?.['description']).toBe('Says hello')
    expect(entryOf({ ...node(), description: 5 })).not.toHaveProperty('description')
    expect(entryOf({ ...node({ env: ['x'] }), compatibility: 5 })).toMatchObject({ env: {} })
  })

  it.each([
    // A command without a slash is looked up as usual; one with a slash is a file of the bundle.
    ['node', LINUX, 'tool', 'tool'],
    ['node', LINUX, 'bin/tool', '/cache/b/bin/tool'],
    ['node', LINUX, '/usr/bin/tool', '/usr/bin/tool'],
    ['binary', LINUX, 'bin/tool', '/cache/b/bin/tool'],
    ['binary', WINDOWS, 'bin/tool', 'C:\\cache\\bin\\tool.exe'],
    ['binary', WINDOWS, 'bin/tool.cmd', 'C:\\cache\\bin\\tool.cmd'],
    ['binary', WINDOWS, 'tool', 'tool'],
    ['binary', WINDOWS, 'D:\\x\\tool', 'D:\\x\\tool.exe'],
    ['node', WINDOWS, 'bin/tool', 'C:\\cache\\bin\\tool'],
  ] as const)('a %s server on %o with the command %s', (type, place, command, started) => {
    const manifest = { name: 'x', server: { type, mcp_config: { command } } }
    expect(entryOf(manifest, {}, place)?.['command']).toBe(started)
  })

  it.each([
    ['src/server.py', ['/cache/b/src/server.py']],
    ['./src/../server.py', ['/cache/b/server.py']],
    ['..', undefined],
    ['a/../../b', undefined],
    ['C:/x.py', undefined],
    ['/x.py', undefined],
    ['a\0b', undefined],
  ])('an entry point %j without a command', (entry_point, args) => {
    expect(entryOf({ name: 'x', server: { type: 'python', entry_point } })?.['args']).toEqual(args)
  })

  it('is python on Windows, where there is no python3', () => {
    const manifest = { name: 'x', server: { type: 'python', entry_point: 's.py' } }
    expect(entryOf(manifest, {}, WINDOWS)?.['command']).toBe('python')
    expect(entryOf(manifest)?.['command']).toBe('python3')
  })

  it.each([
    [{ linux: { command: 'other' } }, { command: 'other', args: ['a'] }],
    [{ linux: { args: ['b'] } }, { command: 'node', args: ['b'] }],
    [{ linux: { env: { B: '2' } } }, { env: { A: '1', B: '2' } }],
    [{ linux: 'node' }, { command: 'node', args: ['a'] }],
    [{ darwin: { command: 'other' } }, { command: 'node', args: ['a'] }],
    ['linux', { command: 'node', args: ['a'] }],
  ])('with the overrides %j', (platform_overrides, expected) => {
    expect(entryOf(node({ args: ['a'], env: { A: '1' }, platform_overrides }))).toMatchObject(expected)
  })

  it('leaves out a variable of the environment that would be a prototype', () => {
    const env = JSON.parse('{"__proto__": "x", "A": "1"}')
    expect(Object.keys(entryOf(node({ env }))?.['env'] ?? {})).toEqual(['A'])
  })

  it.each([
    [undefined, undefined],
    ['linux', undefined],
    [['linux', 'win32'], undefined],
    [['darwin'], true],
    [[], true],
  ])('for the platforms %j', (platforms, disabled) => {
    const { server, diagnostics } = readManifest({ ...node(), compatibility: { platforms } }, {}, LINUX)
    expect(server?.entry['disabled']).toBe(disabled)
    expect(server?.offBecause).toBe(disabled && 'it is not made for linux')
    expect(diagnostics).toStrictEqual(
      disabled
        ? [
            {
              severity: 'error',
              file: '/b.mcpb',
              path: 'compatibility.platforms',
              message: 'This bundle is not made for linux.',
              hint: 'It is listed as disabled.',
            },
          ]
        : [],
    )
  })
})

describe('the variables of a manifest', () => {
  it.each([
    [LINUX, '/cache/b /home/me /home/me/Desktop /home/me/Documents /home/me/Downloads / /'],
    [
      WINDOWS,
      'C:\\cache C:\\Users\\me C:\\Users\\me\\Desktop C:\\Users\\me\\Documents C:\\Users\\me\\Downloads \\ \\',
    ],
  ])('are places of this machine', (place, filled) => {
    const names = ['__dirname', 'HOME', 'DESKTOP', 'DOCUMENTS', 'DOWNLOADS', 'pathSeparator', '/']
    const text = names.map((name) => `\${${name}}`).join(' ')
    expect(entryOf(node({ args: [text, '${OTHER}'] }), {}, place)?.['args']).toEqual([filled, '${OTHER}'])
  })

  it.each([
    // One argument that is a list becomes several; inside of other text it is joined.
    [{ multiple: true }, ['a', 'b'], ['a', 'b', 'x=a,b'], { E: 'a,b', F: '-a,b' }],
    [{ multiple: true }, 'a', ['a', 'x=a'], { E: 'a', F: '-a' }],
    [{ type: 'string' }, 'a', ['a', 'x=a'], { E: 'a', F: '-a' }],
    // A value that was not given leaves no argument and no variable behind.
    [{ type: 'string' }, undefined, ['x='], { F: '-' }],
    [{ type: 'string' }, null, ['x='], { F: '-' }],
    [{ type: 'string' }, '', ['x='], { F: '-' }],
    [{ type: 'boolean' }, false, ['false', 'x=false'], { E: 'false', F: '-false' }],
    [{ type: 'number' }, 0, ['0', 'x=0'], { E: '0', F: '-0' }],
  ])('are the user’s values: %j %j', (definition, value, args, env) => {
    const manifest = {
      ...node({
        args: ['${user_config.v}', 'x=${user_config.v}'],
        env: { E: '${user_config.v}', F: '-${user_config.v}' },
      }),
      user_config: { v: definition },
    }
    const { server, diagnostics } = readManifest(manifest, value === undefined ? {} : { v: value }, LINUX)
    expect(server?.entry).toMatchObject({ args, env })
    expect(Object.keys(server?.entry['env'] ?? {})).toEqual(Object.keys(env))
    expect(diagnostics).toEqual([])
  })

  it('are filled in in an author’s default, and stay in what the user wrote', () => {
    const manifest = {
      ...node({ args: ['${user_config.a}', '${user_config.l}'] }),
      user_config: {
        a: { default: '${HOME}/x' },
        l: { multiple: true, default: ['${HOME}/y', '${DESKTOP}'] },
      },
    }
    expect(entryOf(manifest)?.['args']).toEqual(['/home/me/x', '/home/me/y', '/home/me/Desktop'])
    expect(entryOf(manifest, { a: '${HOME}/z', l: ['${HOME}'] })?.['args']).toEqual(['${HOME}/z', '${HOME}'])
  })

  it('that are used and not defined are named once', () => {
    const manifest = {
      ...node({
        command: '${user_config.c}',
        args: ['${user_config.g}', '-${user_config.g}', '${HOME}', 'user_config.not'],
        env: { E: '${user_config.e}', O: '${user_config.odd}' },
      }),
      user_config: { known: {}, odd: 'text' },
    }
    const ghost = (key: string) => ({
      severity: 'warning',
      file: '/b.mcpb',
      path: `user_config.${key}`,
      message: `The manifest uses "${key}" without defining it.`,
    })
    expect(readManifest(manifest, {}, LINUX).diagnostics).toStrictEqual(['c', 'g', 'e', 'odd'].map(ghost))
  })
})

describe('the values of a user', () => {
  const read = (definition: object, values: UserValues) =>
    readManifest({ ...node(), user_config: { key: definition } }, values, LINUX)
  const number = { type: 'number', min: 1, max: 10 }

  it.each([
    [number, 1, undefined],
    [number, 10, undefined],
    [number, 0.9, '1 or more'],
    [number, 11, '10 or less'],
    [number, '5', 'a number'],
    [number, Number.POSITIVE_INFINITY, 'a number'],
    [{ type: 'number', min: '5', max: '1' }, 3, undefined],
    [{ type: 'boolean' }, true, undefined],
    [{ type: 'boolean' }, 'true', 'true or false'],
    [{ type: 'string' }, 'x', undefined],
    [{ type: 'string' }, 5, 'a text'],
    [{ multiple: true }, ['a'], undefined],
    [{ multiple: true }, ['a', 1], 'a list of texts'],
  ])('are checked: %j %j', (definition, value, wrong) => {
    const { server, diagnostics } = read(definition, { key: value })
    expect(server?.entry['disabled']).toBe(wrong && true)
    expect(diagnostics).toStrictEqual(
      wrong === undefined
        ? []
        : [
            {
              severity: 'error',
              file: '/b.mcpb',
              path: 'user_config.key',
              message: `The value for key is not ${wrong}.`,
              hint: 'Correct "key" in its "userConfig" under "plugins".',
            },
          ],
    )
  })

  it('that are missing are asked for, a secret as a variable', () => {
    const hint = 'Write "userConfig": {"key": …} beside its "path" under "plugins".'
    const lack = { severity: 'error', file: '/b.mcpb', path: 'user_config.key' }
    const offBecause =
      'it needs a value for key; write {"path": "/b.mcpb", "userConfig": {"key": …}} under "plugins" where it is switched on'
    const plain = read({ required: true, title: 'API Key' }, {})
    expect(plain.diagnostics).toStrictEqual([
      { ...lack, message: 'This bundle needs a value for key (API Key).', hint },
    ])
    expect(plain.server).toMatchObject({ offBecause, entry: { disabled: true } })
    expect(read({ required: true, sensitive: true }, {}).diagnostics).toStrictEqual([
      {
        ...lack,
        message: 'This bundle needs a value for key.',
        hint: `${hint} It is a secret: give it as a variable, \${NAME}.`,
      },
    ])
    const two = { ...node(), user_config: { a: { required: true }, b: { required: true } } }
    expect(readManifest(two, {}, LINUX).server?.offBecause).toBe(
      'it needs values for a, b; write {"path": "/b.mcpb", "userConfig": {"a": …, "b": …}} under "plugins" where it is switched on',
    )
    for (const definition of [{}, { required: false }, { required: 'yes' }, { required: true, default: 'd' }])
      expect(read(definition, {}).diagnostics).toEqual([])
  })

  it('that no setting has are named without what they hold', () => {
    expect(read({}, { key: 'x', stray: 's3cret', toString: 'y' }).diagnostics).toStrictEqual(
      ['stray', 'toString'].map((key) => ({
        severity: 'warning',
        file: '/b.mcpb',
        path: `user_config.${key}`,
        message: `This bundle has no setting named "${key}".`,
      })),
    )
    // What every object has is no value.
    expect(
      readManifest({ ...node(), user_config: { toString: { required: true } } }, {}, LINUX).diagnostics,
    ).toMatchObject([{ path: 'user_config.toString' }])
  })
})

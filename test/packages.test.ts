// The packages as npm would publish them, in an empty project outside the workspace: their content, their dependencies,
// and that they work there. `npm run packages` does the same with a real install, more Nodes and more compilers.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { VERSION } from '../packages/codebase/src/version.ts'
import { CLIENT_INFO } from '../packages/core/src/board/servers.ts'
import { SERVER_INFO } from '../packages/gateway/src/json-rpc.ts'
import { VERSION as WORKSPACE_VERSION } from '../packages/workspace/src/version.ts'
import { CHECKS, compile, publicPaths, run, TSC } from '../scripts/lib/consumer.mjs'
import { emptyProject, installStrictly, type Packed, type Place, packAll } from '../scripts/lib/packed.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const NAMES = [
  '@plugboard/core',
  '@plugboard/codebase',
  '@plugboard/workspace',
  '@plugboard/agent',
  '@plugboard/gateway',
  '@plugboard/resident',
  'plugboard',
]

/** The dependencies that core may have. A heavy one is added here only on purpose. */
const CORE_ASKS_FOR = [
  '@modelcontextprotocol/client',
  '@opentelemetry/api',
  'jose',
  'jsonc-parser',
  'oauth4webapi',
  'smol-toml',
  'undici',
  'ws',
  'yaml',
  'yauzl',
  'zod',
]
const CORE_MAY_HAVE = ['@napi-rs/keyring', 'sharp']
const CORE_BYTES = 2_000_000

let place: Place
let packages: readonly Packed[]
const packed = (name: string) => {
  const found = packages.find((one) => one.name === name)
  if (!found) throw new Error(`${name} was not packed`)
  return found
}

beforeAll(() => {
  place = emptyProject()
  packages = packAll(place.tarballs)
  installStrictly(place.project, packages)
}, 120_000)
afterAll(() => place.remove())

describe.each(NAMES)('the tarball of %s', (name) => {
  it('has a readme, the licence, and nothing but what was built', () => {
    const { files } = packed(name)
    const paths = files.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE']))
    const built =
      /^(dist\/.*\.(js|cjs|d\.ts)|bin\/(plugboard|code-cache)\.cjs|(gateway|mcp|settings)\.schema\.json|dist\/THIRD-PARTY\.txt|dist\/web\/((?:index|admin)\.html|icon\.svg|THIRD-PARTY\.txt|assets\/[\w-]+\.(js|css)))$/
    const others = paths.filter((path) => !['package.json', 'README.md', 'LICENSE'].includes(path))
    expect(others.filter((path) => !built.test(path))).toEqual([])
    expect(others.filter((path) => /(^|\/)(fixtures?|tests?)\/|\.test\./.test(path))).toEqual([])
    const licence = readFileSync(join(place.project, 'node_modules', name, 'LICENSE'), 'utf8')
    expect(licence).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
  })

  it('was built from sources that are still there', () => {
    if (name === 'plugboard') return
    const sources = join(root, 'packages', name.replace('@plugboard/', ''), 'src')
    const orphans = packed(name)
      .files.map(({ path }) => /^dist\/(.*)\.js$/.exec(path)?.[1])
      .filter((path) => path !== undefined && !existsSync(join(sources, `${path}.ts`)))
    expect(orphans).toEqual([])
  })

  it('has the fields that a registry and a bundler need', () => {
    const { manifest, files } = packed(name)
    expect(manifest).toMatchObject({ license: 'MIT', type: 'module', engines: { node: '>=20' } })
    expect(manifest.description).toMatch(/^[A-Z]/)
    expect(manifest.private).toBeUndefined()
    if (name !== 'plugboard') expect(manifest.sideEffects).toBe(false)
    const hooks = Object.keys(manifest.scripts ?? {})
    expect(hooks.filter((hook) => /^(pre|post)?(install|pack|prepare|publish)/.test(hook))).toEqual([])
    const paths = new Set(files.map(({ path }) => `./${path}`))
    for (const target of Object.values(manifest.exports ?? {})) {
      expect(Object.keys(target)).toEqual(['types', 'default'])
      for (const file of Object.values(target)) expect(paths).toContain(file)
    }
    for (const file of Object.values(manifest.bin ?? {})) {
      expect(paths).toContain(file)
      const mode = files.find(({ path }) => `./${path}` === file)?.mode ?? 0
      expect(mode & 0o111).toBe(0o111)
    }
  })

  it('depends only on what a registry has', () => {
    const { manifest } = packed(name)
    const { dependencies, optionalDependencies, peerDependencies } = manifest
    // What a program brings itself may be any version that is new enough.
    for (const range of Object.values(peerDependencies ?? {}))
      expect(range).toMatch(/^(>=|\^)\d+(\.\d+){0,2}$/)
    const asked = Object.entries({ ...dependencies, ...optionalDependencies })
    for (const [one, range] of asked) {
      expect([one, range]).toEqual([one, expect.stringMatching(/^\^?\d+\.\d+\.\d+$/)])
      if (NAMES.includes(one)) expect(range).toBe(`^${packed(one).manifest.version}`)
    }
  })
})

it.each([
  ['@plugboard/core', CLIENT_INFO.version],
  ['@plugboard/gateway', SERVER_INFO.version],
  ['@plugboard/codebase', VERSION],
  ['@plugboard/workspace', WORKSPACE_VERSION],
])('%s reports its own version to servers and clients', (name, told) => {
  expect(told).toBe(packed(name).manifest.version)
})

describe('@plugboard/core', () => {
  it('has exactly these dependencies, and is small', () => {
    const { manifest, unpackedSize } = packed('@plugboard/core')
    expect(Object.keys(manifest.dependencies ?? {}).sort()).toEqual(CORE_ASKS_FOR)
    expect(Object.keys(manifest.optionalDependencies ?? {}).sort()).toEqual(CORE_MAY_HAVE)
    expect(unpackedSize).toBeLessThan(CORE_BYTES)
  })

  it('is imported without any of them: nothing else is even installed here', () => {
    const bare = emptyProject()
    try {
      installStrictly(bare.project, [packed('@plugboard/core')], { without: true })
      const source = `const core = await import('@plugboard/core'); console.log(typeof core.openBoard)`
      const said = run({ ...bare, node: process.execPath }, ['--input-type=module', '-e', source])
      expect(said.trim()).toBe('function')
    } finally {
      bare.remove()
    }
  })
})

describe('an empty project that installed them', () => {
  const on = () => ({ ...place, node: process.execPath, packages })

  it('has public paths at all', () => {
    expect(packages.flatMap(publicPaths).length).toBeGreaterThan(20)
  })

  it.each(CHECKS)('%s', async (_name, check) => check(on()), 60_000)

  it('compiles against the types, declarations and readme examples included', () => {
    compile(on(), { tsc: TSC, resolution: 'nodenext' })
  }, 320_000)
})

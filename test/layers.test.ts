// The import order: a module imports from layers to its left, never to its right, and layers form no cycle. In core the
// layers are folders of the package; inside the other packages the same holds for their folders and files.
// ARCHITECTURE.md draws it; this is the same drawing as data.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Left to right. Layers in one row may not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ['codebase', 'core/errors', 'core/json', 'core/lazy', 'core/limits', 'core/protocol', 'core/version'],
  ['workspace', 'core/host', 'core/text'],
  ['core/async'],
  ['core/files'],
  ['core/events', 'core/skills'],
  ['core/config'],
  ['core/auth'],
  ['core/transports'],
  ['core/connection'],
  ['core/permissions', 'core/interaction', 'core/builtin', 'core/trace'],
  ['core/tools'],
  ['core/doctor', 'core/board'],
  ['core/index'],
  ['agent', 'gateway'],
  ['resident'],
  ['web'],
  ['cli'],
]

/** The same inside the other packages: their folders, and their files without `.ts`. */
const INSIDE: Readonly<Record<string, readonly (readonly string[])[]>> = {
  agent: [
    ['limits', 'event-channel'],
    ['messages'],
    ['events', 'models'],
    ['toolbox', 'user-prompts', 'compaction', 'model-turn'],
    ['skill-tool', 'recording'],
    ['board-tools'],
    ['sub-agent'],
    ['loop'],
    ['index'],
  ],
  cli: [
    ['colors', 'exit-codes', 'raw-output', 'terminal-device', 'file-arguments'],
    ['streams'],
    ['wrap'],
    ['output'],
    ['verb-spec', 'server-table', 'config-events', 'trace-line'],
    ['context'],
    ['shared'],
    ['terminal'],
    ['config-verbs', 'use-verbs', 'resident'],
    ['verb-table', 'with-board'],
    ['args', 'help', 'chat'],
    ['main', 'thin', 'thin-connect'],
    ['serve'],
    ['board-verbs'],
  ],
  gateway: [
    ['limits', 'json-rpc', 'metrics', 'access', 'store'],
    ['errors', 'server-span', 'parse-message', 'sealing', 'config'],
    ['views', 'identity', 'call-limits', 'results'],
    ['client-request'],
    ['operation', 'isolation', 'own-tool', 'local-login', 'tasks', 'user-logins'],
    ['user-servers'],
    ['routing'],
    ['replicas'],
    ['gateway-options'],
    ['gateway'],
    ['forward'],
    ['deliver-call'],
    ['search-tools', 'call-own-tool'],
    ['methods'],
    ['eras'],
    ['http', 'stdio'],
    ['admin'],
    ['index', 'parts'],
  ],
  workspace: [
    ['errors', 'limits', 'line-endings', 'version'],
    ['replace-text', 'patch-syntax', 'project-files', 'schemas', 'run-command', 'sandbox'],
    ['apply-hunks', 'journal'],
    ['edit-plan'],
    ['workspace'],
    ['mcp'],
    ['index'],
  ],
  web: [
    ['routes', 'theme', 'connection'],
    ['state'],
    ['parts'],
    ['results'],
    ['apps'],
    ['tools', 'servers', 'offers', 'timeline', 'health', 'palette'],
    ['questions'],
    ['app', 'admin'],
    ['main'],
  ],
  codebase: [
    ['limits', 'errors', 'version', 'kernels', 'wasm', 'nearest-name', 'protected-names'],
    ['ripgrep', 'root', 'chunks'],
    ['files', 'protected-files', 'text', 'schemas'],
    ['index'],
    ['semantic'],
    ['types'],
    ['codebase'],
    ['mcp'],
    ['transports'],
    ['index.ts'],
  ],
}

/** Only these layers may touch the SDK's client. */
const SDK_LAYERS = ['core/auth', 'core/transports', 'core/connection']

function* files(dir: string): Generator<string> {
  for (const item of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, item.name)
    if (item.isDirectory()) {
      if (item.name !== 'fixtures') yield* files(path)
    } else if (/\.tsx?$/.test(item.name) && !item.name.endsWith('.test.ts')) yield path
  }
}

function layerOf(path: string): string {
  const [, pkg = '', , ...rest] = relative(root, path).split(sep)
  if (pkg !== 'core') return pkg
  return `core/${(rest[0] ?? '').replace(/\.ts$/, '')}`
}

function importsOf(path: string): { specifier: string; typeOnly: boolean }[] {
  const text = readFileSync(path, 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const found: { specifier: string; typeOnly: boolean }[] = []
  for (const match of text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(type\s)?[^'"`;]*?from\s+['"]([^'"]+)['"]/g,
  ))
    found.push({ specifier: match[2] ?? '', typeOnly: Boolean(match[1]) })
  for (const match of text.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g))
    found.push({ specifier: match[1] ?? '', typeOnly: false })
  return found
}

function target(specifier: string, from: string): string | undefined {
  if (specifier.startsWith('.')) return layerOf(resolve(dirname(from), specifier))
  const own = /^@plugboard\/([a-z]+)(?:\/([a-z-]+))?/.exec(specifier)
  if (!own) return undefined
  return own[1] === 'core' ? `core/${own[2] ?? 'index'}` : own[1]
}

const sources = readdirSync(join(root, 'packages')).flatMap((pkg) => [
  ...files(join(root, 'packages', pkg, 'src')),
])
const rank = new Map(LAYERS.flatMap((row, index) => row.map((layer) => [layer, index] as const)))

describe('the import order', () => {
  it('knows every layer', () => {
    const unknown = [...new Set(sources.map(layerOf))].filter((layer) => !rank.has(layer))
    expect(unknown).toEqual([])
  })

  it('has no import to the right, nor sideways between layers of one row', () => {
    const wrong: string[] = []
    for (const file of sources) {
      const layer = layerOf(file)
      for (const { specifier } of importsOf(file)) {
        const to = target(specifier, file)
        if (to === undefined || to === layer) continue
        if ((rank.get(to) ?? 99) >= (rank.get(layer) ?? -1))
          wrong.push(`${relative(root, file)} → ${specifier}`)
      }
    }
    expect(wrong).toEqual([])
  })

  for (const [name, rows] of Object.entries(INSIDE))
    describe(`inside ${name}`, () => {
      const source = join(root, 'packages', name, 'src')
      const ranks = new Map(rows.flatMap((row, at) => row.map((part) => [part, at] as const)))
      const folders = new Set(
        readdirSync(source, { withFileTypes: true }).flatMap((item) =>
          item.isDirectory() ? [item.name] : [],
        ),
      )
      /** A file beside a folder of the same name keeps its ending. */
      const partOf = (path: string) => {
        const [first = '', ...rest] = relative(source, path).split(sep)
        const bare = first.replace(/\.tsx?$/, '')
        return rest.length === 0 && folders.has(bare) ? first : bare
      }
      const own = sources.filter((file) => file.startsWith(source + sep))

      it('knows every folder and file', () => {
        const parts = [...new Set(own.map(partOf))]
        expect(
          parts.filter((part) => !ranks.has(part)),
          'add these to a row of INSIDE',
        ).toEqual([])
        expect([...ranks.keys()].filter((part) => !parts.includes(part))).toEqual([])
      })

      it('has no import to the right, nor sideways', () => {
        const wrong = own.flatMap((file) =>
          importsOf(file).flatMap(({ specifier }) => {
            if (!specifier.startsWith('.')) return []
            const [from, to] = [partOf(file), partOf(resolve(dirname(file), specifier))]
            return from === to || (ranks.get(to) ?? 99) < (ranks.get(from) ?? -1)
              ? []
              : [`${relative(root, file)} → ${specifier}`]
          }),
        )
        expect(wrong).toEqual([])
      })
    })

  it('has no cycle of files; imports of types alone are gone when the program runs', () => {
    const imports = new Map(
      sources.map((file) => [
        file,
        importsOf(file).flatMap(({ specifier, typeOnly }) =>
          specifier.startsWith('.') && !typeOnly ? [resolve(dirname(file), specifier)] : [],
        ),
      ]),
    )
    expect(firstCycle(imports)?.map((file) => relative(root, file))).toBeUndefined()
    expect(firstCycle(new Map(Object.entries({ a: ['b'], b: ['c'], c: ['b'] })))).toEqual(['b', 'c', 'b'])
  })

  it('is described in ARCHITECTURE.md: every layer, and no other', () => {
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    const layers = readdirSync(join(root, 'packages')).flatMap((pkg) =>
      readdirSync(join(root, 'packages', pkg, 'src'), { withFileTypes: true })
        .filter((item) => item.isDirectory() && item.name !== 'fixtures')
        .map(({ name }) => `${name}/`),
    )
    const alone = [...rank.keys()]
      .filter((layer) => layer.startsWith('core/') && layer !== 'core/index')
      .map((layer) => layer.slice('core/'.length))
      .filter((layer) => !layers.includes(`${layer}/`))
      .map((layer) => `${layer}.ts`)
    expect([...layers, ...alone].filter((layer) => !page.includes(`\`${layer}\``))).toEqual([])
    const named = [...page.matchAll(/`([a-z]+\/)`/g)].map(([, layer = '']) => layer)
    expect(named.filter((layer) => !layers.includes(layer))).toEqual([])
  })

  it('lets only the connection side touch the SDK client', () => {
    const wrong = sources.filter(
      (file) =>
        layerOf(file).startsWith('core/') &&
        !SDK_LAYERS.includes(layerOf(file)) &&
        importsOf(file).some(({ specifier }) => specifier.startsWith('@modelcontextprotocol/client')),
    )
    expect(wrong.map((file) => relative(root, file))).toEqual([])
  })
})

/** The files of one cycle in order, the first again at the end. */
function firstCycle(imports: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>()
  const path: string[] = []
  const visit = (file: string): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file]
    if (done.has(file)) return undefined
    path.push(file)
    for (const next of imports.get(file) ?? []) {
      const cycle = visit(next)
      if (cycle) return cycle
    }
    path.pop()
    done.add(file)
    return undefined
  }
  for (const file of imports.keys()) {
    const cycle = visit(file)
    if (cycle) return cycle
  }
  return undefined
}

// The corridor: a module imports from rooms to its left, never to its right, and rooms form no cycle.
// ARCHITECTURE.md draws it; this is the same drawing as data.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Left to right. Rooms in one row may not import each other. */
const CORRIDOR: readonly (readonly string[])[] = [
  ['codebase', 'core/errors', 'core/lazy', 'core/limits', 'core/protocol', 'core/secrets', 'core/visible'],
  ['core/host', 'core/question-text'],
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
  ['cli'],
]

/** Only these rooms may touch the SDK's client. */
const SDK_ROOMS = ['core/auth', 'core/transports', 'core/connection']

function* files(dir: string): Generator<string> {
  for (const item of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, item.name)
    if (item.isDirectory()) {
      if (item.name !== 'fixtures') yield* files(path)
    } else if (item.name.endsWith('.ts') && !item.name.endsWith('.test.ts')) yield path
  }
}

function roomOf(path: string): string {
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
  if (specifier.startsWith('.')) return roomOf(resolve(dirname(from), specifier))
  const own = /^@plugboard\/([a-z]+)(?:\/([a-z-]+))?/.exec(specifier)
  if (!own) return undefined
  return own[1] === 'core' ? `core/${own[2] ?? 'index'}` : own[1]
}

const sources = readdirSync(join(root, 'packages')).flatMap((pkg) => [
  ...files(join(root, 'packages', pkg, 'src')),
])
const rank = new Map(CORRIDOR.flatMap((row, index) => row.map((room) => [room, index] as const)))

describe('the corridor', () => {
  it('knows every room', () => {
    const strangers = [...new Set(sources.map(roomOf))].filter((room) => !rank.has(room))
    expect(strangers).toEqual([])
  })

  it('has no import to the right, nor sideways between rooms of one row', () => {
    const wrong: string[] = []
    for (const file of sources) {
      const room = roomOf(file)
      for (const { specifier } of importsOf(file)) {
        const to = target(specifier, file)
        if (to === undefined || to === room) continue
        if ((rank.get(to) ?? 99) >= (rank.get(room) ?? -1))
          wrong.push(`${relative(root, file)} → ${specifier}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('is told in ARCHITECTURE.md: every room that there is, and no other', () => {
    const page = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
    const rooms = readdirSync(join(root, 'packages')).flatMap((pkg) =>
      readdirSync(join(root, 'packages', pkg, 'src'), { withFileTypes: true })
        .filter((item) => item.isDirectory() && item.name !== 'fixtures')
        .map(({ name }) => `${name}/`),
    )
    const alone = [...rank.keys()]
      .filter((room) => room.startsWith('core/') && room !== 'core/index')
      .map((room) => room.slice('core/'.length))
      .filter((room) => !rooms.includes(`${room}/`))
      .map((room) => `${room}.ts`)
    expect([...rooms, ...alone].filter((room) => !page.includes(`\`${room}\``))).toEqual([])
    const named = [...page.matchAll(/`([a-z]+\/)`/g)].map(([, room = '']) => room)
    expect(named.filter((room) => !rooms.includes(room))).toEqual([])
  })

  it('lets only the connection side touch the SDK client', () => {
    const wrong = sources.filter(
      (file) =>
        roomOf(file).startsWith('core/') &&
        !SDK_ROOMS.includes(roomOf(file)) &&
        importsOf(file).some(({ specifier }) => specifier.startsWith('@modelcontextprotocol/client')),
    )
    expect(wrong.map((file) => relative(root, file))).toEqual([])
  })
})

// Generated files are up to date with the sources; and every key and error code is described.
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mcpJsonSchema, settingsJsonSchema } from '@plugboard/core/config/json-schema'
import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { KEY_DESCRIPTIONS } from '../packages/core/src/config/key-descriptions.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

const ajv = new Ajv({ strict: false })
const fitsMcpJson = ajv.compile(mcpJsonSchema())
const fitsSettings = ajv.compile(settingsJsonSchema())

it('the schemas, docs/settings.md and docs/cli.md are up to date', () => {
  const done = spawnSync(process.execPath, [join(root, 'scripts/docs.mjs'), '--check'], {
    encoding: 'utf8',
    timeout: 60_000,
  })
  expect([done.status, done.stderr.match(/.*stale.*/g)]).toEqual([0, null])
})

it('describes no unknown keys', () => {
  const paths = new Set<string>()
  const walk = (schema: Record<string, unknown>, path: string) => {
    for (const [key, child] of Object.entries(
      (schema['properties'] ?? {}) as Record<string, typeof schema>,
    )) {
      const at = path ? `${path}.${key}` : key
      paths.add(at)
      walk(child, at)
    }
    if (typeof schema['additionalProperties'] === 'object')
      walk(schema['additionalProperties'] as typeof schema, `${path}.*`)
    if (typeof schema['items'] === 'object') walk(schema['items'] as typeof schema, `${path}[]`)
    for (const arm of (schema['anyOf'] ?? []) as (typeof schema)[]) walk(arm, path)
  }
  walk(settingsJsonSchema(), '')
  expect(Object.keys(KEY_DESCRIPTIONS).filter((path) => !paths.has(path))).toEqual([])
})

it.each([
  [{ mcpServers: { a: { command: 'x', env: { PORT: 3000 } } } }, true],
  [{ mcpServers: { a: { type: 'streamable-http', url: 'https://x' } } }, true],
  [{ mcpServers: { a: { type: 'sdk' } } }, true],
  [{ mcpServers: { a: { type: 'sdk', command: 'x' } } }, false],
  [{ mcpServers: { a: { type: 'stdoi', command: 'x' } } }, false],
  [{ mcpServers: { a: { comand: 'x' } } }, false],
  [{ mcpServers: { a: { url: 'https://x', command: 'x' } } }, false],
])('the schema lets an editor check an entry: %j is %s', (document, good) => {
  expect(fitsMcpJson(document)).toBe(good)
  expect(fitsSettings(document)).toBe(good)
})

it('ships the schemas with the command, at the address that settings files name', () => {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: join(root, 'packages/cli'),
    encoding: 'utf8',
  })
  const files = Object.values(JSON.parse(packed) as Record<string, { files: { path: string }[] }>).flatMap(
    (one) => one.files.map(({ path }) => path),
  )
  for (const schema of ['settings.schema.json', 'mcp.schema.json', 'gateway.schema.json']) {
    expect(files).toContain(schema)
    const { $id } = JSON.parse(readFileSync(join(root, 'packages/cli', schema), 'utf8'))
    expect($id).toBe(`https://unpkg.com/plugboard@0/${schema}`)
  }
})

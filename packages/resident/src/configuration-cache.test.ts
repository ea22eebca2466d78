// A configuration that was read a moment ago is used again only while nothing that it came from has changed.
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LoadOptions, loadConfiguration } from '@plugboard/core/config/load'
import { systemHost } from '@plugboard/core/host'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ConfigurationCache } from './configuration-cache.ts'

let top: string
let cache: ConfigurationCache
const at = (...parts: string[]) => join(top, ...parts)
const write = (path: string, value: object) => {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, JSON.stringify(value))
}
const server = (name: string) => ({ mcpServers: { [name]: { command: name } } })
const options = (env: Readonly<Record<string, string>> = {}): LoadOptions => ({
  host: systemHost({ env: { HOME: at('home'), PATH: '/usr/bin', ...env } }),
  cwd: at('project', 'inner'),
})

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-configurations-'))
  cache = new ConfigurationCache()
  mkdirSync(at('project', 'inner'), { recursive: true })
  write(at('home/.plugboard/settings.json'), server('one'))
  write(at('project/.mcp.json'), server('two'))
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

/** Files that were written just now are not relied on: after a moment the same configuration is used again. */
async function settled(): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; ) {
    const first = await cache.load(options())
    if ((await cache.load(options())) === first) return
    await new Promise((done) => setTimeout(done, 20))
  }
  throw new Error('nothing is ever kept')
}

const CHANGES: Readonly<Record<string, () => void>> = {
  'a file of the user': () => write(at('home/.plugboard/settings.json'), server('six')),
  'a file of the project': () => write(at('project/.mcp.json'), server('six')),
  'a file that was not there': () => write(at('project/.plugboard/settings.json'), server('six')),
  'a nearer project': () => write(at('project/inner/.mcp.json'), server('six')),
  'a removed file': () => rmSync(at('project/.mcp.json')),
  'a file in its place': () => {
    write(at('other.json'), server('two'))
    renameSync(at('other.json'), at('project/.mcp.json'))
  },
  'a link in its place': () => {
    write(at('other.json'), server('six'))
    rmSync(at('project/.mcp.json'))
    symlinkSync(at('other.json'), at('project/.mcp.json'))
  },
  'the rights of a file': () => chmodSync(at('project/.mcp.json'), 0o640),
  'an approval': () => write(at('home/.plugboard/approvals.json'), {}),
  'a running editor': () => write(at('home/.claude/ide/4711.lock'), { workspaceFolders: [] }),
}

describe('a configuration', () => {
  it.each(Object.entries(CHANGES))('is read again after a change of %s', async (_, change) => {
    await settled()
    const before = await cache.load(options())
    change()
    const after = await cache.load(options())
    expect(after).not.toBe(before)
    const fresh = await loadConfiguration(options())
    expect(after.servers).toEqual(fresh.servers)
    expect(after.diagnostics).toEqual(fresh.diagnostics)
  })

  it('is that of its own environment, folder and options', async () => {
    await settled()
    const known = await cache.load(options())
    expect(await cache.load(options({ TOKEN: 'x' }))).not.toBe(known)
    expect(await cache.load({ ...options(), cwd: at('project') })).not.toBe(known)
    expect(await cache.load({ ...options(), strict: true })).not.toBe(known)
    expect(await cache.load(options())).toBe(known)
  })

  it('that depends on more than its files is read each time', async () => {
    write(at('home/.plugboard/settings.json'), { ...server('one'), plugins: [] })
    // Longer ago than a file has to be to be relied on.
    await new Promise((done) => setTimeout(done, 300))
    const first = await cache.load(options())
    expect(await cache.load(options())).not.toBe(first)
  })
})

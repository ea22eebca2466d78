// A folder for the index that cannot be made, however oddly the system reports it.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { scratch } from '../fixtures/test-folders.ts'
import { makeFolder } from './atomic-write.ts'

const built = new URL('../../dist/index.js', import.meta.url).href

describe('a folder for the index', () => {
  it('is made with its parents, for its owner only, once or twice', () => {
    const place = scratch()
    const wanted = join(place.folder, 'a', 'b', 'c')
    for (let n = 0; n < 2; n++) makeFolder(wanted)
    expect(statSync(wanted).isDirectory()).toBe(true)
    expect(statSync(join(place.folder, 'a')).mode & 0o077).toBe(0)
    place.remove()
  })

  it.skipIf(process.platform !== 'linux')(
    'is not needed where the system refuses to make one without a reason',
    () => {
      const tree = scratch({ 'a.txt': 'walrus\n' })
      // In a process of its own: the risk is a system call that is repeated for ever.
      const script = `import { createCodebaseServer } from ${JSON.stringify(built)}
        import { Client } from '@modelcontextprotocol/client'
        const cacheDir = '/proc/no-such-folder/below/it'
        const server = createCodebaseServer({ root: ${JSON.stringify(tree.folder)}, cacheDir, embeddings: { kind: 'none' } })
        const client = new Client({ name: 'test', version: '1' })
        await client.connect(server.inProcess())
        const answer = await client.callTool({ name: 'search_code', arguments: { query: 'walrus' } })
        console.log(JSON.stringify(answer.structuredContent))
        await client.close()
        await server.close()`
      const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        cwd: new URL('.', import.meta.url),
        timeout: 20_000,
        encoding: 'utf8',
      })
      tree.remove()
      expect(JSON.parse(stdout || '{}'), stderr).toMatchObject({
        matches: [{ file_path: 'a.txt' }],
        notes: [expect.stringMatching(/in memory only: .* cannot be written \(ENOENT\)/)],
      })
    },
    30_000,
  )
})

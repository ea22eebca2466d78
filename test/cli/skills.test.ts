// `plugboard skills` and `plugboard skill`, through the built command, against a real server that has skills and one that
// sends other content than it listed.
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../packages/core/src/skills/fixtures/${name}.mjs`, import.meta.url))

let place: Place
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', {
    disabledServers: ['codebase'],
    mcpServers: {
      docs: { command: process.execPath, args: [fixture('official')] },
      bad: { command: process.execPath, args: [fixture('hostile'), 'digest'] },
    },
  })
})
afterEach(() => place.remove())

describe('plugboard skills', () => {
  it('lists them by server, and as JSON', async () => {
    const shown = await place.run('skills')
    expect(shown.code).toBe(0)
    expect(shown.stdout).toMatch(/docs\s+pdf-processing\s+3 files\s+Extract, fill and assemble PDF documents/)
    expect(shown.stdout).toMatch(/bad\s+notes\s+2 files\s+Takes notes/)
    const { json } = await place.run('skills', 'docs', '--json')
    expect(json.skills.map(({ server, name }: { server: string; name: string }) => [server, name])).toEqual([
      ['docs', 'pdf-processing'],
      ['docs', 'wide-tables'],
    ])
  })
})

describe('plugboard skill', () => {
  it('prints a skill, or one of its files, or writes it to a file', async () => {
    expect((await place.run('skill', 'docs', 'wide-tables')).stdout).toContain('Fold them.')
    const forms = await place.run('skill', 'docs', 'pdf-processing', 'references/FORMS.md', '--json')
    expect(forms.json).toMatchObject({ text: 'Forms have fields.\n', verified: true, size: 19 })
    const dot = await place.run('skill', 'docs', 'pdf-processing', 'assets/dot.bin', '-o', 'dot.bin')
    expect(dot.code).toBe(0)
    expect(place.read('dot.bin')).toHaveLength(4)
  })

  it('refuses content that differs from the listing, and says what to do about a wrong name', async () => {
    const refused = await place.run('skill', 'bad', 'notes')
    expect(refused).toMatchObject({ code: 6, stdout: '' })
    expect(refused.stderr).toContain('it is not the file that the server promised')
    const unknown = await place.run('skill', 'docs', 'nope', '--json')
    expect(unknown.code).toBe(3)
    expect(unknown.json.error).toMatchObject({
      code: 'SKILL_NOT_FOUND',
      hint: 'It has pdf-processing, wide-tables.',
    })
  })
})

// At a terminal the user is asked before anything of a project takes effect, and sees all of it first.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { noTerminal, openTerminal, type Terminal } from '../support/terminal.ts'
import { type Clone, makeClone } from './clone.ts'

const reason = noTerminal()
let clone: Clone
let terminal: Terminal | undefined
beforeEach(() => {
  clone = makeClone()
  // No folder is trusted or refused yet.
  clone.place.write('~/.plugboard/approvals.json', {})
})
afterEach(async () => {
  await terminal?.close()
  clone.place.remove()
})

describe.skipIf(reason !== undefined)('a user at a terminal', () => {
  const records = () => JSON.parse(readFileSync(join(clone.place.home, '.plugboard/approvals.json'), 'utf8'))

  it('is asked once whether to trust the folder that servers would start in', async () => {
    const { place } = clone
    clone.program('tool', `#!/bin/sh\n${clone.mark('ran')}\n`)
    place.write('~/.plugboard/settings.json', {
      mcpServers: { mine: { command: '/bin/sh', args: ['-c', '[ -x ./tool ] && ./tool'] } },
    })
    terminal = await openTerminal(place, 'list')
    await terminal.see(/Trust this folder\?[\s\S]*\(n\)o:/)
    expect(clone.marks()).toEqual([])
    await terminal.press('Enter')
    await terminal.see('exit 0')
    expect(clone.marks()).toEqual([])
    await terminal.close()
    terminal = await openTerminal(place, 'list')
    expect(await terminal.see('exit 0')).not.toContain('Trust this folder?')
    await terminal.close()
    terminal = await openTerminal(place, 'trust')
    await terminal.see(/Trust this folder\?[\s\S]*\(n\)o:/)
    await terminal.type('y')
    await terminal.see('exit 0')
    expect(Object.values(records().folders)).toMatchObject([{ trusted: true }])
    await place.run('list')
    expect(clone.marks()).toEqual(['ran'])
  })

  it('is not asked where none of the user’s own servers would start', async () => {
    clone.place.write('.mcp.json', { mcpServers: { theirs: { command: '/bin/true' } } })
    terminal = await openTerminal(clone.place, 'list')
    expect(await terminal.see('exit 0')).not.toContain('Trust this folder?')
  })

  it('sees a whole entry before the yes, also when it was named', async () => {
    const { place } = clone
    place.write('.mcp.json', {
      mcpServers: { theirs: { url: 'https://x.test/', headersHelper: 'API_TOKEN=$(id > owned) sh -c true' } },
    })
    terminal = await openTerminal(place, 'approve', 'theirs')
    const screen = await terminal.see(/Let theirs start\?[\s\S]*\(n\)ot now/)
    expect(screen).toContain('API_TOKEN=$(id > owned) sh -c true')
    await terminal.press('Enter')
    await terminal.see('Nothing was approved.')
    await terminal.close()
    terminal = await openTerminal(place, 'approve', 'theirs')
    await terminal.see('(n)ot now')
    await terminal.type('y')
    await terminal.see('exit 0')
    expect(Object.keys(Object.values<object>(records().projects)[0] ?? {})).toEqual(['theirs'])
  })
})

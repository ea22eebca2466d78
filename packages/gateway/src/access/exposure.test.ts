// Which servers and tools a pattern exposes, and that a client's own patterns can only narrow that.
import { describe, expect, it } from 'vitest'
import { type Exposure, readExposure } from '../index.ts'
import { narrowed } from '../parts.ts'
import { EVERYTHING } from './exposure.ts'

const shown = (exposure: Exposure) => ({
  servers: ['files', 'git', 'git.hub'].filter((name) => exposure.server(name)),
  whole: ['files', 'git', 'git.hub'].filter((name) => exposure.whole(name)),
  tools: [
    ['files', 'read_text'],
    ['files', 'write'],
    ['git', 'log'],
    ['git.hub', 'issues'],
  ].flatMap(([server = '', tool = '']) => (exposure.tool(server, tool) ? [`${server}.${tool}`] : [])),
})

describe('an exposure', () => {
  it('names a whole server, or the tools of it that match', () => {
    expect(shown(readExposure(['git', 'files.read_*']))).toEqual({
      servers: ['files', 'git'],
      whole: ['git'],
      tools: ['files.read_text', 'git.log'],
    })
    expect(shown(readExposure(['git.hub.*'])).whole).toEqual(['git.hub'])
    expect(shown(readExposure([])).tools).toHaveLength(4)
  })

  it('is narrowed by a client’s own patterns, never widened', () => {
    const outer = readExposure(['files.read_*', 'git'])
    expect(shown(narrowed(outer, readExposure(['files'])))).toEqual({
      servers: ['files'],
      whole: [],
      tools: ['files.read_text'],
    })
    expect(shown(narrowed(outer, readExposure(['git.hub']))).tools).toEqual([])
    expect(shown(narrowed(outer, EVERYTHING))).toEqual(shown(outer))
    expect(shown(narrowed(EVERYTHING, outer))).toEqual(shown(outer))
  })

  it('is written like a rule, in any spelling', () => {
    expect(shown(readExposure(['mcp__git', 'mcp__files__read_*']))).toEqual({
      servers: ['files', 'git'],
      whole: ['git'],
      tools: ['files.read_text', 'git.log'],
    })
    expect(shown(readExposure(['git*'])).whole).toEqual(['git', 'git.hub'])
    const long = readExposure(['mcp__s__de_lete_34694ca7'])
    expect(long.tool('s', 'de.lete', 'mcp__s__de_lete_34694ca7')).toBe(true)
    expect(long.tool('s', 'de.lete')).toBe(false)
  })

  it('does not expose a server whose name looks like the pattern of a tool', () => {
    const exposure = readExposure(['mcp__github__get_issue'])
    expect(exposure.tool('github', 'get_issue')).toBe(true)
    expect(exposure.whole('github__get_issue')).toBe(false)
    expect(exposure.server('github__get_issue')).toBe(false)
    expect(exposure.tool('github__get_issue', 'wipe')).toBe(false)
  })

  it.each(['', 'files/read', 'Bash(ls)', 'mcp__files__'])('refuses %j', (pattern) => {
    expect(() => readExposure(['git', pattern])).toThrow('The pattern')
  })
})

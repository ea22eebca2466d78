// Sentences of the guides that were once wrong, each held by what the code does.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../packages/core/src/host.ts'
import { openBoard } from '../packages/core/src/index.ts'
import { readPage } from './docs/page.ts'
import { makePlace, type Place } from './support/cli.ts'
import { odd } from './support/servers.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { permissions: { deny: ['odd'] } })
})
afterEach(() => place.remove())

describe('docs/library.md', () => {
  const text = readPage('docs/library.md').replace(/\s+/g, ' ')
  const host = () => systemHost({ home: place.home, env: { ...process.env, HOME: place.home } })
  const denied = async (options: object) => {
    await using board = await openBoard({ host: host(), caller: 'user', ...options })
    const { isError, content } = await board.callForModel('odd.answer', { result: { content: [] } })
    return isError === true && JSON.stringify(content).includes('is denied')
  }

  it('a program that defines its servers reads no file', async () => {
    expect(text).toContain('A program can define its servers itself; then no file is read.')
    expect(await denied({ servers: { odd: odd() } })).toBe(false)
  }, 60_000)

  it('a strict board still follows the rules of the user', async () => {
    expect(text).toContain('a `deny` in `~/.plugboard/settings.json` refuses a call on such a board too')
    const config = { strict: true, servers: { odd: odd() } }
    expect(await denied({ config, cwd: place.project })).toBe(true)
  }, 60_000)
})

it('docs/codebase.md: the project folder is searched, also from a folder inside it', async () => {
  expect(readPage('docs/codebase.md')).toContain('searches the project folder')
  place.write('.mcp.json', { mcpServers: {} })
  place.write('.git/HEAD', 'ref: refs/heads/main\n')
  place.write('top.js', 'export const looms = 1\n')
  place.write('sub/a/inner.js', 'export const other = 2\n')
  const ran = await place.run(
    'call',
    'codebase.search_code',
    'query=looms',
    '--json',
    '--cwd',
    `${place.project}/sub/a`,
  )
  expect(ran.stdout).toContain('top.js')
}, 60_000)

it('docs/configuration.md: $schema is the name of the schema that the command prints and the package contains', async () => {
  const said = readPage('docs/configuration.md').replace(/\s+/g, ' ')
  expect(said).toContain(
    'The `$schema` in files that Plugboard writes is a name for editors. It cannot be fetched until the packages are on npm; `plugboard config schema` prints the schema.',
  )
  expect(readPage('README.md')).toContain('The packages are not on the npm registry yet.')
  expect((await place.run('add', 'mine', '--', 'some-server')).code).toBe(0)
  const { $schema } = JSON.parse(place.read('.plugboard/settings.local.json'))
  const printed = await place.run('config', 'schema')
  expect(JSON.parse(printed.stdout).$id).toBe($schema)
  // Once it is published: the address is that of a file in the package, by its name and major version.
  const { name, version, files } = JSON.parse(readPage('packages/cli/package.json'))
  const major = `${version}`.split('.')[0]
  expect($schema).toBe(`https://unpkg.com/${name}@${major}/settings.schema.json`)
  expect(files).toContain('*.schema.json')
  expect(JSON.parse(readPage('packages/cli/settings.schema.json'))).toEqual(JSON.parse(printed.stdout))
  for (const file of ['settings', 'mcp', 'gateway'])
    expect(JSON.parse(readPage(`packages/cli/${file}.schema.json`)).$id).toBe(
      `https://unpkg.com/${name}@${major}/${file}.schema.json`,
    )
}, 60_000)

describe('what a reader looks for is in a guide', () => {
  it.each([
    ['docs/library.md', ['toAiSdk', 'toAnthropic', 'toOpenAiChat', 'toOpenAiResponses', 'toGemini']],
    ['docs/recipes.md', ['inProcess']],
    ['docs/agent.md', ['PLUGBOARD_MODEL', 'ANTHROPIC_MODEL', 'OPENAI_BASE_URL']],
  ])('%s: %j', (page, words) => {
    const text = readPage(page)
    expect(words.filter((word) => !text.includes(word))).toEqual([])
  })
})

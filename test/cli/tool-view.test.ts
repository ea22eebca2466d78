// `plugboard tools SERVER.TOOL`: one tool in full, and an example that can be copied. Help and the table of exit codes.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { exampleArguments } from '../../packages/cli/src/shared/example-call.ts'
import { compileSchema } from '../../packages/core/src/tools/schema/index.ts'
import { makePlace, type Place } from '../support/cli.ts'
import { odd, sixServers } from '../support/servers.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
})
afterAll(() => place.remove())

const use = (mcpServers: object) => place.write('~/.plugboard/settings.json', { mcpServers })

it('shows nested shapes, descriptions, defaults, the result and an example', async () => {
  use({
    odd: odd(undefined, [
      {
        name: 'make',
        description: 'Makes things.\nIn two lines.',
        inputSchema: {
          type: 'object',
          required: ['entities'],
          properties: {
            entities: { type: 'array', items: { $ref: '#/$defs/entity' }, description: 'What to make' },
            limit: { type: 'integer', minimum: 1, default: 10 },
            mode: { enum: ['fast', 'slow'] },
          },
          $defs: {
            entity: {
              type: 'object',
              required: ['name'],
              properties: {
                name: { type: 'string', description: 'Its name' },
                parent: { $ref: '#/$defs/entity' },
              },
            },
          },
        },
        outputSchema: { type: 'object', properties: { made: { type: 'integer', description: 'How many' } } },
      },
    ]),
  })
  for (const words of [['odd.make'], ['odd', 'make'], ['make'], ['mcp__odd__make']]) {
    const { stdout, code } = await place.run('tools', ...words)
    expect([words, code]).toEqual([words, 0])
    expect(stdout).toContain('Makes things.\n  In two lines.')
    expect(stdout).toMatch(
      /entities {2}object\[\], required\n {6}What to make\n {6}name {2}string, required\n {10}Its name/,
    )
    expect(stdout).toContain('limit  integer, optional, at least 1, default 10')
    expect(stdout).toContain('mode  "fast" | "slow", optional')
    expect(stdout).toMatch(/Returns\n {2}made {2}integer, optional\n {6}How many/)
    expect(stdout).toContain(`plugboard call odd.make 'entities:=[{"name":"NAME"}]'`)
  }
  const json = await place.run('tools', 'odd.make', '--json')
  expect(json.json.tools).toMatchObject([{ name: 'mcp__odd__make', inputSchema: { type: 'object' } }])
  const wrong = await place.run('call', 'odd.make', 'entities:=3')
  expect(wrong.stderr).toContain('plugboard tools odd.make')
  const none = await place.run('tools', 'odd.mak')
  expect([none.code, none.stderr]).toEqual([3, expect.stringContaining('odd.make')])
}, 90_000)

it('keeps what a server writes from acting on the terminal or the shell', async () => {
  use({
    odd: odd(undefined, [
      {
        name: 'make',
        description: 'x\u001b[2Jy',
        inputSchema: {
          type: 'object',
          required: ['a'],
          properties: {
            a: { type: 'string', examples: ["'; rm -rf ~; '"], description: 'b\u001b]0;c\u0007' },
          },
        },
      },
    ]),
  })
  const { stdout } = await place.run('tools', 'odd.make')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
  expect(stdout).not.toMatch(/[\u001b\u0007]/)
  expect(stdout).toContain(`'a='\\''; rm -rf ~; '\\'''`)
}, 60_000)

it('fits 80 columns but for the example, for every tool of six real servers, and the examples fit the schemas', async () => {
  use(sixServers(place.project))
  const { json } = await place.run('tools', '--json')
  const unfit: string[] = []
  for (const { name, inputSchema } of json.tools) {
    const verdict = compileSchema(inputSchema).check(exampleArguments(inputSchema))
    if (verdict.kind === 'invalid') unfit.push(`${name}: ${JSON.stringify(verdict.issues)}`)
  }
  expect(unfit).toEqual([])
  const { stdout } = await place.run('tools', 'git.git_log')
  const wide = stdout.split('\n').filter((line) => line.length > 80 && !line.includes('plugboard call'))
  expect(wide).toEqual([])
}, 120_000)

it('help and docs have the table of exit codes', async () => {
  const { stdout } = await place.run('help', 'exit-codes')
  const page = readFileSync(fileURLToPath(new URL('../../docs/cli.md', import.meta.url)), 'utf8')
  for (const code of [0, 1, 2, 3, 4, 5, 6, 7, 130]) {
    expect(stdout).toMatch(new RegExp(`^ +${code} `, 'm'))
    expect(page).toMatch(new RegExp(`^\\| ${code} `, 'm'))
  }
  const verbs = (await place.run('--help')).stdout.split('\n')
  for (const help of [verbs, ...(await helpOfAll())])
    expect(help.filter((line) => line.length > 80)).toEqual([])
}, 120_000)

async function helpOfAll(): Promise<readonly (readonly string[])[]> {
  const pages: string[][] = []
  for (const verb of ['add', 'serve', 'codebase', 'tools', 'import', 'chat'])
    pages.push(
      (await place.run(verb, '--help')).stdout
        .split('\n')
        // An example is one line to copy.
        .filter((line) => !/^ {2}(\S+=\S+ )?(plugboard|claude) /.test(line)),
    )
  return pages
}

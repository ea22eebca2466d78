// `plugboard generate types`: what it writes makes calls and results exact for the compiler, and `--check` notices change.
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { odd } from '../support/servers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('package.json', { type: 'module' })
  symlinkSync(join(root, 'node_modules'), join(place.project, 'node_modules'))
})
afterAll(() => place.remove())

const use = (title: object) =>
  place.write('~/.plugboard/settings.json', {
    mcpServers: {
      tracker: odd(undefined, [
        {
          name: 'create_issue',
          description: 'Creates an issue',
          inputSchema: {
            type: 'object',
            properties: { title, labels: { type: 'array', items: { enum: ['bug', 'idea'] } } },
            required: ['title'],
          },
          outputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
        },
      ]),
    },
  })

function compile(program: string): string {
  place.write('program.ts', program)
  const options = ['--strict', '--noEmit', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext']
  try {
    execFileSync(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), ...options, 'program.ts', 'plugboard.d.ts'],
      { cwd: place.project, encoding: 'utf8' },
    )
    return ''
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

it('makes a call and its result exact', async () => {
  use({ type: 'string' })
  const made = await place.run('generate', 'types', 'tracker')
  expect([made.code, made.stdout]).toEqual([0, expect.stringContaining('Wrote the types of 1 tools')])
  expect(place.read('plugboard.d.ts')).toContain('/** Creates an issue */')
  const head = `import { openBoard } from '@plugboard/core'\nconst board = await openBoard()\n`
  expect(
    compile(
      `${head}const { structuredContent } = await board.call('tracker.create_issue', { title: 'x', labels: ['bug'] })
const number: number | undefined = structuredContent?.number
await board.server('tracker').tools.create_issue({ title: 'y' })
await board.call('other.tool', { anything: 1 })
console.log(number)\n`,
    ),
  ).toBe('')
  for (const wrong of [
    `await board.call('tracker.create_issue', { title: 5 })`,
    `await board.call('tracker.create_issue', { title: 'x', labels: ['other'] })`,
    `await board.call('tracker.create_issue')`,
    `await board.server('tracker').tools.create_isue({ title: 'x' })`,
    `;(await board.call('tracker.create_issue', { title: 'x' })).structuredContent?.nummer`,
  ])
    expect([wrong, compile(`${head}${wrong}\n`)]).toEqual([wrong, expect.stringContaining('error TS')])
}, 180_000)

it('notices that the tools changed', async () => {
  use({ type: 'string' })
  expect((await place.run('generate', 'types', '-o', 'x.d.ts')).code).toBe(0)
  const same = await place.run('generate', 'types', '-o', 'x.d.ts', '--check', '--json')
  expect([same.code, same.json.current]).toEqual([0, true])
  use({ type: 'number' })
  const changed = await place.run('generate', 'types', '-o', 'x.d.ts', '--check')
  expect([changed.code, changed.stdout]).toEqual([1, expect.stringContaining('out of date')])
}, 60_000)

it('prints to stdout, and says what is wrong', async () => {
  use({ type: 'string' })
  const printed = await place.run('generate', 'types', '-o', '-')
  expect(printed.stdout).toContain("declare module '@plugboard/core'")
  expect(await place.run('generate')).toMatchObject({ code: 2 })
  expect((await place.run('generate', 'type')).stderr).toContain('plugboard generate types')
  expect(await place.run('generate', 'types', 'nothing')).toMatchObject({ code: 3 })
  expect((await place.run('generate', 'types', '--check', '-o', 'none.d.ts')).stderr).toContain(
    'cannot be read',
  )
}, 60_000)

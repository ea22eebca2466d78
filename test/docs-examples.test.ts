// The examples in the doc comments of functions, classes and their options: type-checked all at once, then run one after the other in one
// process, against the built packages. A comment behind `console.log` is what it prints.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transform } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'
import { modelServer } from '../packages/agent/src/fixtures/model-server.mjs'
import { CODE_KINDS, ENTRIES, symbolsOf } from '../scripts/docs-api.mjs'
import { ROOT } from './docs/place.ts'

const PACKAGES = ENTRIES.map(([, name, file]) => ({ name, symbols: symbolsOf(join(ROOT, file)) }))
const isCode = (kind: string) => CODE_KINDS.has(kind)
const CODE = PACKAGES.flatMap(({ name, symbols }) =>
  symbols.filter(({ kind }) => isCode(kind)).map((symbol) => ({ ...symbol, from: name })),
)
/** What a function with an example takes: its options have an example, too. */
const optionsIn = (text: string) => [...text.matchAll(/\b[A-Z]\w*Options\b/g)].map(([name]) => name)
const NEEDED = new Set([
  ...CODE.filter(({ examples }) => examples.length > 0).flatMap(({ text }) => optionsIn(text)),
  ...['ServerInput', 'WaitOptions'],
])
const OPTIONS = PACKAGES.flatMap(({ name: from, symbols }) =>
  symbols
    .filter(({ name, kind }) => NEEDED.has(name) && !isCode(kind))
    .map((symbol) => ({ ...symbol, from })),
)
const EXAMPLES = [...CODE, ...OPTIONS].flatMap(({ name, from, examples }) =>
  examples.map((text) => ({ name, from, text })),
)

/** What every example may use: a board with the tool `notes.say`, a model, a conversation. */
const SETUP = `
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { chooseModel, type Message, userMessage } from '@plugboard/agent'
import { openBoard, systemHost } from '@plugboard/core'
import * as z from 'zod'

const notes = new McpServer({ name: 'notes', version: '1.0.0' })
notes.registerTool(
  'say',
  { description: 'Repeats a text', inputSchema: { text: z.string(), times: z.number().optional() } },
  ({ text }) => ({ content: [{ type: 'text', text }] }),
)
export const board = await openBoard({ servers: {}, inProcess: { notes: (end) => notes.connect(end) }, caller: 'user' })
await board.ready()
export const model = chooseModel({ host: systemHost() })
export const messages: readonly Message[] = [userMessage('Hello'), userMessage('Hello again')]
`

/** The example as a module: what it does not declare or import comes from the packages, or from the setup. */
function moduleOf({ text, from: own }: { readonly text: string; readonly from: string }): string {
  const uses = (name: string) =>
    new RegExp(`(?<![.\\w'])${name}\\b`).test(text) &&
    !new RegExp(`(?:const|using|import \\{) ${name}\\b`).test(text)
  const imports = new Map<string, string>()
  for (const { name, from } of CODE) if (uses(name) && !imports.has(name)) imports.set(name, from)
  for (const name of ['board', 'model', 'messages']) if (uses(name)) imports.set(name, './setup.ts')
  // Two packages may have options of one name: an example is about those of its own.
  const types = new Map<string, string>()
  for (const { name, from } of OPTIONS)
    if (uses(name) && (from === own || !types.has(name))) types.set(name, from)
  const lines = [
    ...[...imports].map(([name, from]) => `import { ${name} } from '${from}'`),
    ...[...types].map(([name, from]) => `import type { ${name} } from '${from}'`),
  ]
  return `${lines.join('\n')}\n${text}\nexport {}\n`
}

const fileOf = (at: number) => `example-${String(at).padStart(3, '0')}-${EXAMPLES[at]?.name}`
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-examples-')))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ code: number | null; out: string }> {
  return new Promise((done) => {
    // A server over standard input has a client that is gone at once.
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const timer = setTimeout(() => child.kill('SIGKILL'), 90_000)
    let out = ''
    child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
    child.stderr.on('data', (bytes: Buffer) => (out += bytes.toString()))
    child.once('close', (code) => {
      clearTimeout(timer)
      done({ code, out })
    })
  })
}

describe('the examples of doc comments', () => {
  it('are there for the functions that programs use', () => {
    const mine = new Set(EXAMPLES.map(({ name }) => name))
    expect(mine.size).toBeGreaterThan(30)
    const used = [
      'openBoard',
      'isPlugboardError',
      'toAiSdk',
      'toAnthropic',
      'toOpenAiChat',
      'toOpenAiResponses',
    ]
    const more = ['toGemini', 'typeDeclarations', 'runAgent', 'fromAiSdk', 'chooseModel', 'anthropicModel']
    const last = [
      'openAiModel',
      'geminiModel',
      'openGateway',
      'serveHttp',
      'serveStdio',
      'createCodebaseServer',
    ]
    expect([...used, ...more, ...last].filter((name) => !mine.has(name))).toEqual([])
    expect(OPTIONS.length).toBeGreaterThan(12)
    const bare = OPTIONS.filter(({ examples }) => examples.length === 0)
    expect(bare.map(({ name, from }) => `${name} of ${from}`)).toEqual([])
  })

  it('type-check', async () => {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const compilerOptions = { noEmit: true, typeRoots: ['node_modules/@types'] }
    const config = { extends: join(ROOT, 'tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    writeFileSync(join(folder, 'setup.ts'), SETUP)
    for (const [at, example] of EXAMPLES.entries())
      writeFileSync(join(folder, `${fileOf(at)}.ts`), moduleOf(example))
    const checked = await run([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder], process.env)
    expect(checked.out).toBe('')
  }, 120_000)

  it('print what they say', async () => {
    const model = await modelServer(() => ({ text: 'Hi.' }))
    try {
      const home = join(folder, 'home')
      mkdirSync(home)
      const write = async (name: string, text: string) => {
        const { code } = await transform(text, { loader: 'ts', format: 'esm', target: 'node20' })
        writeFileSync(join(folder, `${name}.mjs`), code.replaceAll('./setup.ts', './setup.mjs'))
      }
      await write('setup', SETUP)
      for (const [at, example] of EXAMPLES.entries()) await write(fileOf(at), moduleOf(example))
      const env = {
        PATH: process.env['PATH'],
        HOME: home,
        ANTHROPIC_API_KEY: 'k',
        ANTHROPIC_BASE_URL: model.url,
      }
      // Standard input ends once: each example that serves it has a process of its own.
      const files = EXAMPLES.map((_, at) => fileOf(at))
      const isAlone = (name: string) => EXAMPLES[files.indexOf(name)]?.text.includes('serveStdio') === true
      const groups = [files.filter((name) => !isAlone(name)), ...files.filter(isAlone).map((name) => [name])]
      let out = ''
      for (const [at, names] of groups.entries()) {
        const all = `for (const name of ${JSON.stringify(names)}) {
  console.log('\\n== ' + name)
  await import('./' + name + '.mjs').catch((error) => console.log('FAILED', error))
}
process.exit(0)`
        writeFileSync(join(folder, `all-${at}.mjs`), all)
        const ran = await run([`all-${at}.mjs`], env)
        expect(ran.code, ran.out).toBe(0)
        out += ran.out
      }
      const printed = new Map(
        out.split(/^== /m).map((part) => [part.split('\n', 1)[0] ?? '', part.slice(part.indexOf('\n') + 1)]),
      )
      const wrong = EXAMPLES.flatMap(({ text }, at) => {
        const said = printed.get(fileOf(at)) ?? 'was not run'
        const wanted = [...text.matchAll(/console\.log\(.*\) \/\/ (.+)$/gm)].map(([, value = '']) => value)
        const failed = said.includes('FAILED') || said === 'was not run'
        return failed || wanted.some((value) => !said.includes(value)) ? [`${fileOf(at)}: ${said}`] : []
      })
      expect(wrong).toEqual([])
    } finally {
      await model.close()
    }
  }, 120_000)
})

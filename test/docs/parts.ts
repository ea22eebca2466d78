// parts.ts: checks of a block without running it: its verbs exist, its settings fit the schema.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mcpJsonSchema, settingsJsonSchema } from '@plugboard/core/config/json-schema'
import { gatewayJsonSchema } from '@plugboard/gateway/parts'
import { Ajv } from 'ajv'
import { parseCommandLine } from '../../packages/cli/src/args.ts'
import type { Block } from './blocks.ts'
import { ROOT } from './place.ts'

const ajv = new Ajv({ strict: false, allErrors: true })
const fitsSettings = ajv.compile(settingsJsonSchema())
const fitsMcpJson = ajv.compile(mcpJsonSchema())
const fitsGateway = ajv.compile(gatewayJsonSchema())
const SCRIPTS = Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts)

/** Unknown verbs, options and npm scripts in a command. */
export function unknownWords(command: string): readonly string[] {
  return simpleCommands(command).flatMap((words) => {
    const [program, ...args] = words
    try {
      if (program === 'plugboard') parseCommandLine(args)
      if (program === 'npm' && ['run', 'start', 'test'].includes(args[0] ?? '')) npmScript(args)
      return []
    } catch (error) {
      return [`${words.join(' ')}: ${error instanceof Error ? error.message : error}`]
    }
  })
}

function npmScript(args: readonly string[]): void {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, strict: false })
  const name = positionals[0] === 'run' ? positionals[1] : positionals[0]
  if (!name || !SCRIPTS.includes(name)) throw new Error(`there is no npm script "${name}"`)
  const [, bench] = name === 'bench' ? positionals.slice(positionals.indexOf(name)) : []
  if (
    bench &&
    bench !== 'NAME' &&
    !bench.startsWith('-') &&
    !existsSync(join(ROOT, 'bench', `${bench}.bench.mjs`))
  )
    throw new Error(`there is no benchmark "${bench}"`)
}

/** Word by word as a shell would, without expanding anything; `|`, `&&` and `;` end a command. */
function simpleCommands(command: string): string[][] {
  const commands: string[][] = [[]]
  const pattern =
    /\\\n|#.*|&&|\|\|?|;|&|[<>]+\(?|(?:"(?:\\.|[^"])*"|'[^']*'|\\.|\$\([^)]*\)|[^\s"'\\|&;<>#])+/g
  for (const [word] of command.matchAll(pattern)) {
    if (/^(\\\n|#|[<>])/.test(word)) continue
    if (/^(&&|\|\|?|;|&)$/.test(word)) commands.push([])
    else if (!(commands.at(-1)?.length === 0 && /^\w+=/.test(word)))
      commands.at(-1)?.push(word.replace(/"((?:\\.|[^"])*)"|'([^']*)'/g, (_, a, b) => a ?? b))
  }
  return commands.filter((words) => words.length > 0)
}

const SCHEMAS = [
  ['.mcp.json', fitsMcpJson],
  ['gateway.json', fitsGateway],
] as const

/** The errors of the block against its file's schema. */
export function settingsFaults(block: Block): readonly string[] {
  let value: unknown
  try {
    value = JSON.parse(block.lines.join('\n'))
  } catch (error) {
    return [String(error)]
  }
  const check = SCHEMAS.find(([name]) => block.file?.endsWith(name))?.[1] ?? fitsSettings
  return check(value)
    ? []
    : (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

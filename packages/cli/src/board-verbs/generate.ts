// generate: TypeScript declarations from the tools of servers. `--check` only compares, for a build.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Tool } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { nearest } from '@plugboard/core/text/nearest'
import { typeDeclarations } from '@plugboard/core/tools'
import type { Invocation } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { allServers } from '../shared/missing-servers.ts'
import { writeTarget } from '../shared/output-file.ts'
import { write } from '../streams.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'

const KINDS = ['types'] as const
const DEFAULT_FILE = 'plugboard.d.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [kind, ...servers] = invocation.positionals
  if (kind !== 'types') {
    const close = kind === undefined ? undefined : nearest(kind, KINDS)
    throw new InvalidInput(
      kind === undefined ? 'What to generate is missing.' : `"${kind}" cannot be generated.`,
      {
        hint: close ? `Did you mean \`plugboard generate ${close}\`?` : `Usage: ${invocation.usage}`,
      },
    )
  }
  return withBoard(invocation, async (opened) => {
    const tools = await toolsOf(invocation, opened, servers)
    if (tools.length === 0)
      throw new InvalidInput('There are no tools to write types for.', {
        hint: 'Run `plugboard list` to see which servers are connected.',
      })
    const text = typeDeclarations(tools)
    const target = invocation.option('output') ?? DEFAULT_FILE
    return invocation.flag('check') ? check(invocation, target, text) : save(invocation, target, text, tools)
  })
}

/** Of named servers all must answer: a file without their tools would be wrong. Otherwise those that do. */
async function toolsOf(
  invocation: Invocation,
  opened: OpenedBoard,
  servers: readonly string[],
): Promise<readonly Tool[]> {
  const { board, signal } = opened
  if (servers.length > 0)
    return (await Promise.all(servers.map((server) => board.toolsOf(server, { signal })))).flat()
  await allServers(invocation, opened)
  return board.tools()
}

async function save(
  invocation: Invocation,
  target: string,
  text: string,
  tools: readonly Tool[],
): Promise<number> {
  const { output } = invocation
  if (target === '-') {
    write(1, text)
    return EXIT.done
  }
  const path = await writeTarget(target, Buffer.from(text), invocation)
  output.result(
    { file: path, tools: tools.length },
    () => `Wrote the types of ${tools.length} tools to ${shortPath(path)}`,
  )
  return EXIT.done
}

async function check(invocation: Invocation, target: string, text: string): Promise<number> {
  const { output } = invocation
  const path = resolve(invocation.cwd, target)
  const written = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new InvalidInput(`${path} cannot be read (${error.code}).`, {
      hint: 'Run `plugboard generate types` once to write it.',
    })
  })
  // A checkout may have changed the line ends.
  const current = written.replaceAll('\r\n', '\n') === text
  output.result({ file: path, current }, () =>
    current
      ? `${shortPath(path)} is up to date.`
      : `${shortPath(path)} is out of date: the tools have changed. Run \`plugboard generate types\` again.`,
  )
  return current ? EXIT.done : EXIT.toolError
}

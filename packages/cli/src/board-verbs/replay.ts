// replay: a recording of the protocol as an MCP server over stdio: the stand-in for a server in a test or a build.
import { resolve } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { type RecordedMessage, readRecording, StandIn } from '../shared/protocol-recording.ts'
import { isTerminal, write } from '../streams.ts'

const MOST_BYTES = 256 * 1024 * 1024
const LINE_BYTES = 64 * 1024 * 1024

export async function run(invocation: Invocation): Promise<number> {
  const [name = '', server] = words(invocation, ['FILE', 'SERVER'], 1)
  const { output, cwd } = invocation
  const path = resolve(cwd, name)
  const all = readRecording(textOf(path), shortPath(path))
  const standIn = new StandIn(ofServer(all, server, shortPath(path)))
  if (isTerminal(0))
    output.note(`${shortPath(path)} answers over stdio: an MCP client is expected here. Ctrl-C ends it.`)
  await new Promise<void>((done) => {
    const splitter = new LineSplitter({
      maxBytes: LINE_BYTES,
      onLine: (line) => {
        const { messages, unknown } = standIn.answer(parsed(line))
        if (unknown !== undefined) output.note(`replay: ${oneLine(unknown, 400)}`)
        for (const message of messages) write(1, `${JSON.stringify(message)}\n`)
      },
    })
    process.stdin.on('data', (chunk: Buffer) => splitter.push(chunk))
    process.stdin.once('end', () => done()).once('error', () => done())
  })
  return EXIT.done
}

function textOf(path: string): string {
  const fs = lazyModule('node:fs')
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile())
    throw new InvalidInput(`There is no file ${shortPath(path)}.`, {
      hint: 'Make a recording with `plugboard record FILE -- call SERVER.TOOL …`.',
    })
  if (stat.size > MOST_BYTES) throw new InvalidInput(`${shortPath(path)} is too large to be a recording.`)
  return fs.readFileSync(path, 'utf8')
}

/** The messages of one server; without a name, of the only one. */
function ofServer(
  all: readonly RecordedMessage[],
  wanted: string | undefined,
  file: string,
): readonly RecordedMessage[] {
  const names = [...new Set(all.map(({ server }) => server))]
  const name = wanted ?? (names.length === 1 ? names[0] : undefined)
  if (name === undefined || !names.includes(name))
    throw new InvalidInput(
      wanted === undefined
        ? `${file} has messages of ${names.length} servers.`
        : `${file} has no messages of "${wanted}".`,
      { hint: names.length === 0 ? 'Record again.' : `Name one: ${names.join(', ')}.` },
    )
  return all.filter(({ server }) => server === name)
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    // A line that is not JSON gets no answer.
    return undefined
  }
}

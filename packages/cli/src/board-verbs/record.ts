// record: runs another verb and writes every message between the board and its servers to a file, which `replay` answers from.
import { resolve } from 'node:path'
import type { ProtocolMessage } from '@plugboard/core'
import { InvalidInput, IoError, isPlugboardError } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { parseCommandLine } from '../args.ts'
import { createInvocation, type Invocation, words } from '../context.ts'
import { exitCodeOf, reportError, shortPath } from '../output.ts'
import { type RecordedMessage, recordingHead } from '../shared/protocol-recording.ts'

const NOT_RECORDED: ReadonlySet<string> = new Set(['record', 'replay', 'up', 'connect', 'ui'])

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['FILE'])
  const { rest, verbs, loadBoardVerb, host } = invocation
  if (rest.length === 0)
    throw new InvalidInput('What is to be recorded? The verb and its words follow after --.', {
      hint: 'For example: plugboard record talk.jsonl -- call everything.get-sum a=1 b=2',
    })
  const parsed = parseCommandLine(rest)
  const { verb } = parsed
  if (!verb || NOT_RECORDED.has(verb.name))
    throw new InvalidInput(`"${rest[0]}" cannot be recorded.`, {
      hint: 'Record a verb that uses servers in this process, such as call, tools, chat or serve.',
    })
  const file = new RecordingFile(resolve(invocation.cwd, name), host.now)
  const inner: Invocation = {
    ...createInvocation(parsed, verbs, loadBoardVerb),
    onMessage: (message) => file.add(message),
  }
  try {
    const { run } = await verb.load(loadBoardVerb)
    return await run(inner)
  } catch (error) {
    if (!isPlugboardError(error)) throw error
    reportError(inner.output, error)
    return exitCodeOf(error)
  } finally {
    file.close()
    inner.output.note(`Wrote ${file.count} messages to ${shortPath(file.path)}.`)
  }
}

/** Written line by line, at once, readable by its owner only: it holds whatever the servers said. */
class RecordingFile {
  readonly path: string
  readonly #now: () => number
  readonly #fd: number
  count = 0

  constructor(path: string, now: () => number) {
    this.path = path
    this.#now = now
    const fs = lazyModule('node:fs')
    try {
      this.#fd = fs.openSync(path, 'w', 0o600)
      fs.writeSync(this.#fd, recordingHead(now()))
    } catch (error) {
      throw new IoError(
        `The recording cannot be written to ${shortPath(path)}: ${(error as Error).message}.`,
        {
          hint: 'Choose another file.',
          cause: error,
        },
      )
    }
  }

  add({ server, connection, from, message }: ProtocolMessage): void {
    const line = { at: this.#now(), server, connection, from, message } as RecordedMessage
    lazyModule('node:fs').writeSync(this.#fd, `${JSON.stringify(line)}\n`)
    this.count++
  }

  close(): void {
    lazyModule('node:fs').closeSync(this.#fd)
  }
}

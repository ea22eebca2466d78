// replay.ts: plays a recorded conversation again, with no model, no network and no servers.
import { type AgentEvent, type Message, replay, runAgent } from '@plugboard/agent'
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { lazyModule } from '@plugboard/core/lazy'
import { systemPrompt } from './session.ts'

const MOST_BYTES = 256 * 1024 * 1024

export async function* replayRecording(
  path: string,
  host: Host,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const { model, toolbox, inputs, pause } = replay(read(path))
  let messages: readonly Message[] = []
  let waiting: Message[] = []
  for (const [at, input] of inputs.entries()) {
    waiting.push(input)
    // A prompt template may be several messages; the model was asked after the last of them.
    if (input.role !== 'user' || followsOn(inputs[at + 1])) continue
    const run = {
      model,
      toolbox,
      host,
      signal,
      pause,
      system: systemPrompt(''),
      messages: [...messages, ...waiting],
    }
    waiting = []
    for await (const event of runAgent(run)) {
      if (event.type === 'done') messages = event.messages
      yield event
    }
  }
}

function followsOn(next: Message | undefined): boolean {
  return next?.role === 'assistant'
}

function read(path: string): string {
  const fs = lazyModule('node:fs')
  try {
    if (fs.statSync(path).size > MOST_BYTES) throw new InvalidInput(`${path} is too large to be a recording.`)
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    throw new InvalidInput(`The recording ${path} cannot be read.`, { cause: error })
  }
}

// print.ts: a run as lines: the answer on stdout and notes on stderr, or every event as JSON. For scripts and pipes.
import type { AgentEvent } from '@plugboard/agent'
import { PlugboardError } from '@plugboard/core/errors'
import { EXIT, exitCodeOf, jsonLine, type Output, reportError, safe } from '../output.ts'
import { write } from '../streams.ts'

/** Shows the events as they arrive; returns an exit code. */
export async function printRun(events: AsyncIterable<AgentEvent>, output: Output): Promise<number> {
  let code: number = EXIT.done
  const text = new TextOut()
  for await (const event of events) {
    if (output.json) write(1, jsonLine(forScripts(event)))
    else show(event, output, text)
    if (event.type === 'error') code = exitCodeOf(errorOf(event))
    if (event.type === 'done') code = exitOf(event.reason, code)
  }
  text.end()
  return code
}

/** Text on stdout that always ends its last line. */
class TextOut {
  #open = false

  write(text: string): void {
    if (text === '') return
    write(1, text)
    this.#open = !text.endsWith('\n')
  }

  end(): void {
    if (this.#open) write(1, '\n')
    this.#open = false
  }
}

function show(event: AgentEvent, output: Output, text: TextOut): void {
  const { dim, red, yellow } = output.errorColor
  switch (event.type) {
    case 'text':
      text.write(event.text)
      return
    case 'tool-start':
      text.end()
      return
    case 'tool-end':
      output.note(dim(`${event.isError ? red('✘') : '✔'} ${safe(event.name)} (${event.durationMs} ms)`))
      return
    case 'retry':
      if (event.discard) text.end()
      output.note(yellow(retryText(event)))
      return
    case 'error':
      text.end()
      reportError(output, errorOf(event))
      return
    case 'done':
      text.end()
      if (event.reason !== 'error' && endText(event) !== '') output.note(yellow(endText(event)))
      return
    default:
      return
  }
}

export function retryText(event: Extract<AgentEvent, { type: 'retry' }>): string {
  const { afterMs, attempt, of, discard } = event
  const again = discard ? 'The answer starts again' : 'Trying again'
  return `${retryReason(event)} ${again} in ${(afterMs / 1000).toFixed(0)} s (${attempt} of ${of - 1}).`
}

/** Why, as a sentence. */
export function retryReason({ reason }: Extract<AgentEvent, { type: 'retry' }>): string {
  return safe(reason).replace(/[^.!?]$/, (end) => `${end}.`)
}

/** What the user has to know about the end of a run, if anything. */
export function endText({ reason, turns, text }: Extract<AgentEvent, { type: 'done' }>): string {
  switch (reason) {
    case 'turn-limit':
      return `Stopped after ${turns} turns; --max-turns allows more.`
    case 'length':
      return 'The answer was cut: it reached the limit of the model.'
    case 'refusal':
      return 'The model refused to answer.'
    case 'aborted':
      return 'Stopped.'
    case 'end':
      return text.trim() === '' ? 'The model answered nothing.' : ''
    default:
      return ''
  }
}

function errorOf({ error }: Extract<AgentEvent, { type: 'error' }>): PlugboardError {
  return new PlugboardError(error.code, error.message, error)
}

function exitOf(reason: Extract<AgentEvent, { type: 'done' }>['reason'], failed: number): number {
  if (reason === 'end') return EXIT.done
  if (reason === 'aborted') return EXIT.interrupted
  return reason === 'error' && failed !== EXIT.done ? failed : EXIT.toolError
}

/** Without what a script has already seen or cannot read: the conversation itself, and the bytes of images. */
function forScripts(event: AgentEvent): unknown {
  switch (event.type) {
    case 'done': {
      const { messages: _, ...rest } = event
      return rest
    }
    case 'sub':
      return { ...event, event: forScripts(event.event) }
    case 'tool-end':
      return {
        ...event,
        content: event.content.map((block) =>
          block.type === 'image'
            ? { type: 'image', mimeType: block.mimeType, chars: block.data.length }
            : block,
        ),
      }
    default:
      return event
  }
}

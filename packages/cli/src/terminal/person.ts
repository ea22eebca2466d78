// person.ts: the person at the terminal, as far as servers may ask them: forms, pages, and (with --sample) messages to
// write in a model's place. Without a terminal on both sides there is nobody, and servers are told so.
import type { BoardBehaviour, SamplingRequest } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { cleanText } from '@plugboard/core/tools'
import type { Invocation } from '../context.ts'
import { isTerminal, write } from '../streams.ts'
import { oneLine } from '../use/shown.ts'
import { askPerson } from './form.ts'
import { askKey, askLines, Left } from './keys.ts'

/** Whatever else is drawn makes room for a question. */
export interface Aside {
  aside<T>(work: () => Promise<T>): Promise<T>
}

const ALONE: Aside = { aside: (work) => work() }

export function personOptions(invocation: Invocation, aside: Aside = ALONE): BoardBehaviour {
  const present = isTerminal(0) && isTerminal(2)
  const wantsSampling = invocation.flag('sample')
  if (wantsSampling && !present)
    throw new InvalidInput('--sample needs a terminal: you write what the model would.', {
      hint: 'Without it, servers are told that there is no model here.',
    })
  if (!present) return {}
  const one = inTurn()
  const color = invocation.output.errorColor
  return {
    elicit: (prompt, signal) =>
      one(() => aside.aside(() => askPerson(prompt, { host: invocation.host, color }, signal))),
    ...(wantsSampling && {
      sample: {
        consent: (request, signal) => one(() => aside.aside(() => consent(request, invocation, signal))),
        model: (request, signal) => one(() => aside.aside(() => answer(request, signal))),
      },
    }),
  }
}

/** One question at a time: there is one keyboard. */
function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work, work)
    last = mine.catch(() => undefined)
    return mine
  }
}

async function consent(
  request: SamplingRequest,
  { output }: Invocation,
  signal?: AbortSignal,
): Promise<'once' | 'no'> {
  const { bold, dim } = output.errorColor
  write(
    2,
    `\n${bold(`${oneLine(request.server, 80)} wants a model's answer`)} ${dim(`(up to ${request.maxTokens} tokens)`)}\n`,
  )
  if (request.systemPrompt) write(2, block('system', request.systemPrompt))
  for (const { role, content } of request.messages) write(2, block(role, textOf(content)))
  try {
    return await askKey(
      [
        { key: 'a', means: 'once', label: 'answer in its place' },
        { key: 'd', means: 'no', label: 'decline' },
      ] as const,
      signal,
    )
  } catch (error) {
    if (error instanceof Left) return 'no'
    throw error
  }
}

async function answer(_request: SamplingRequest, signal?: AbortSignal) {
  write(2, '  Write the answer; an empty line ends it.\n')
  const lines = await askLines(
    { prompt: '  › ', signal },
    (so) => so.at(-1) === '' && so.some((line) => line !== ''),
  )
  return {
    role: 'assistant',
    content: { type: 'text', text: lines.join('\n').trim() },
    // It says what it was.
    model: 'a person at the terminal',
    stopReason: 'endTurn',
  } as const
}

const SHOWN_CHARS = 4000

function block(who: string, text: string): string {
  const lines = cleanText(text.slice(0, SHOWN_CHARS)).split('\n').slice(0, 60)
  return `${[`  ${who}:`, ...lines.map((line) => `    ${line}`)].join('\n')}\n`
}

function textOf(content: unknown): string {
  const parts = Array.isArray(content) ? content : [content]
  return parts
    .map((part: unknown) => {
      const { type, text } = (part ?? {}) as { type?: unknown; text?: unknown }
      return typeof text === 'string' ? text : `[${oneLine(type, 40) || 'something without text'}]`
    })
    .join('\n')
}

// terminal-prompts.ts: what servers may ask the user at the terminal: forms, pages, and (with --sample) messages to
// write in a model's place. Without a terminal on both sides servers are told that no user can be asked.
import type { BoardBehaviour, SamplingRequest } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { samplingQuestion } from '@plugboard/core/interaction'
import type { Invocation } from '../context.ts'
import { columnsOf, isTerminal, write } from '../streams.ts'
import { styled } from './permission-prompt.ts'

/** Other output is hidden during a question. */
export interface Aside {
  aside<T>(work: () => Promise<T>): Promise<T>
}

const ALONE: Aside = { aside: (work) => work() }

export function userPromptOptions(invocation: Invocation, aside: Aside = ALONE): BoardBehaviour {
  const present = isTerminal(0) && isTerminal(2)
  const wantsSampling = invocation.flag('sample')
  if (wantsSampling && !present)
    throw new InvalidInput('--sample needs a terminal: you write the answers of the model there.', {
      hint: 'Leave it out, and servers learn that no model is available.',
    })
  if (!present) return {}
  const one = inTurn()
  const color = invocation.output.errorColor
  return {
    elicit: (prompt, signal) =>
      one(() =>
        aside.aside(async () => {
          // Loaded when a server asks: most commands are asked nothing.
          const { askUser } = await import('./elicitation.ts')
          return await askUser(prompt, { host: invocation.host, color }, signal)
        }),
      ),
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
  const { askKey, dropTypeAhead, PromptAborted } = await import('./keys.ts')
  try {
    await dropTypeAhead(signal)
    // All of it is printed: the user can scroll, and nothing is left out.
    const { full, complete } = samplingQuestion(request, { columns: columnsOf(2) })
    write(2, '\n')
    for (const line of full) write(2, `${styled(line, output.errorColor)}\n`)
    if (!complete) {
      write(2, '  It is too large to be shown in full, so it is declined.\n')
      return 'no'
    }
    return await askKey(
      [
        { key: 'a', means: 'once', label: 'answer for the model' },
        { key: 'd', means: 'no', label: 'decline' },
      ] as const,
      signal,
    )
  } catch (error) {
    if (error instanceof PromptAborted) return 'no'
    throw error
  }
}

async function answer(_request: SamplingRequest, signal?: AbortSignal) {
  const { askLines } = await import('./keys.ts')
  write(2, '  Write the answer; an empty line ends it.\n')
  const lines = await askLines(
    { prompt: '  › ', signal },
    (so) => so.at(-1) === '' && so.some((line) => line !== ''),
  )
  return {
    role: 'assistant',
    content: { type: 'text', text: lines.join('\n').trim() },
    // It says what it was.
    model: 'the user at the terminal',
    stopReason: 'endTurn',
  } as const
}

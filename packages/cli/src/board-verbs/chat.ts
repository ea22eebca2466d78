// chat: a conversation with a model that has every tool of the board: at a terminal, or one question and one answer with -p.
// At a terminal the prompt comes first: everything else is loaded while the user may type already.
import { resolve } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import { Screen } from '../chat/screen.ts'
import type { Invocation } from '../context.ts'
import { isTerminal } from '../streams.ts'

/** How long a pipe may be silent at first. */
const PIPE_MS = 3000
const MOST_INPUT = 10 * 1024 * 1024

export async function run(invocation: Invocation): Promise<number> {
  const replayed = invocation.option('replay')
  if (replayed !== undefined) {
    const { playBack } = await import('../chat/open-chat.ts')
    return await playBack(invocation, resolve(invocation.cwd, replayed))
  }
  const asked = await questionOf(invocation)
  if (asked.kind === 'answer') {
    const { answer } = await import('../chat/open-chat.ts')
    return await answer(invocation, asked.text)
  }
  if (!isTerminal(0) || !isTerminal(1))
    throw new InvalidInput('`plugboard chat` needs a terminal.', {
      hint: 'Ask one question with `plugboard chat -p "…"`; `-p -` reads it from stdin.',
    })
  return await talkAt(invocation, asked.text)
}

async function talkAt(invocation: Invocation, question: string | undefined): Promise<number> {
  const screen = new Screen(invocation.output.color, (code) => {
    screen.stop()
    process.exit(code)
  })
  screen.start()
  try {
    const { talk } = await import('../chat/open-chat.ts')
    return await talk(invocation, screen, question)
  } finally {
    screen.stop()
  }
}

type Question =
  | { readonly kind: 'talk'; readonly text: string | undefined }
  | { readonly kind: 'answer'; readonly text: string }

/** `-p` asks once; words without it begin a conversation, or ask once where there is no terminal. What is piped in goes with it. */
async function questionOf(invocation: Invocation): Promise<Question> {
  const given = invocation.option('prompt')
  const typed = invocation.positionals.join(' ').trim()
  if (given !== undefined && typed !== '')
    throw new InvalidInput(`"${typed}" is not expected here: -p has the question already.`, {
      hint: 'Put the whole question into quotation marks.',
    })
  if (given?.trim() === '') throw new InvalidInput('The prompt is empty.')
  const atTerminal = isTerminal(0) && isTerminal(1)
  if (given === undefined && (typed === '' || atTerminal))
    return { kind: 'talk', text: typed === '' ? undefined : typed }
  const prompt = given ?? typed
  const piped = isTerminal(0) ? '' : await readPiped(invocation, prompt === '-')
  if (prompt === '-') {
    if (piped.trim() === '') throw new InvalidInput('There is no prompt on stdin.')
    return { kind: 'answer', text: piped }
  }
  return { kind: 'answer', text: piped.trim() === '' ? prompt : `${prompt}\n\n${piped}` }
}

/** A program that started us may hold a pipe open and never write: unless stdin was asked for, that is not waited for. */
async function readPiped({ host, output }: Invocation, isWanted: boolean): Promise<string> {
  const { stdin } = process
  const parts: Buffer[] = []
  let size = 0
  return await new Promise((done, fail) => {
    const finish = () => {
      stopWaiting()
      stdin.off('data', take).off('end', finish).off('error', fail).pause()
      done(Buffer.concat(parts).toString('utf8'))
    }
    const take = (chunk: Buffer) => {
      stopWaiting()
      parts.push(Buffer.from(chunk))
      size += chunk.length
      if (size > MOST_INPUT) fail(new InvalidInput('More than 10 MB came on stdin, which no model can read.'))
    }
    const stopWaiting = isWanted
      ? () => undefined
      : host.awaitedTimer(PIPE_MS, () => {
          output.note(`Nothing came on stdin for ${PIPE_MS / 1000} s, so it is not read.`)
          finish()
        })
    stdin.on('data', take).on('end', finish).on('error', fail)
  })
}

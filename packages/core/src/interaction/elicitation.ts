// elicitation.ts: a server's elicitation from arrival to response: parse, offer to hooks, prompt the user, validate
// against the schema, offer to hooks again. Both eras end here; the connection sends the response.
import { isObject, own } from '../json.ts'
import { INTERACTION_LIMITS } from '../limits.ts'
import {
  type CheckedAnswer,
  type Content,
  checkAnswer,
  type FieldProblem,
  type Form,
  readForm,
} from './form.ts'
import type { Hooks } from './hooks.ts'

export type Elicitation =
  | { readonly mode: 'form'; readonly server: string; readonly message: string; readonly schema: unknown }
  | {
      readonly mode: 'url'
      readonly server: string
      readonly message: string
      readonly url: string
      readonly elicitationId?: string | undefined
      /** A call waits for it and is retried afterwards. */
      readonly retry?: boolean | undefined
    }

export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content?: Content; readonly done?: boolean }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' }

/** What the user sees. */
export type Prompt =
  | {
      readonly mode: 'form'
      readonly server: string
      readonly message: string
      readonly form: Form
      /** What was wrong with the last try. */
      readonly problems: readonly FieldProblem[]
    }
  | {
      readonly mode: 'url'
      readonly server: string
      readonly message: string
      readonly url: URL
      readonly warnings: readonly string[]
      /** A call waits for what happens there: a response with `done` says that it has happened. */
      readonly retry: boolean
    }

/** The user's response; its content is validated later. */
export interface RawAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: unknown
  /** For a URL: the user has finished there, not only opened it. */
  readonly done?: boolean
}

export interface ElicitationPorts {
  /** Shows the prompt. Without it no user is present, and the elicitation is cancelled. */
  readonly ask?: ((prompt: Prompt, signal?: AbortSignal) => Promise<RawAnswer>) | undefined
  readonly hooks?: Hooks | undefined
  readonly warn?: ((message: string) => void) | undefined
}

const CANCEL: ElicitationAnswer = { action: 'cancel' }
const DECLINE: ElicitationAnswer = { action: 'decline' }

/** Parses the parameters of `elicitation/create`, whatever they are. */
export function readElicitation(server: string, params: unknown): Elicitation | { readonly problem: string } {
  if (!isObject(params)) return { problem: 'the request is not an object' }
  const message = typeof params.message === 'string' ? params.message : ''
  // An elicitation that cannot be read in full is not shown.
  if (message.length > INTERACTION_LIMITS.messageChars)
    return {
      problem: `its message has ${message.length} characters, and more than ${INTERACTION_LIMITS.messageChars} are not shown`,
    }
  if (params.mode === 'url') {
    if (typeof params.url !== 'string') return { problem: 'the request has no URL' }
    const id = own(params, 'elicitationId')
    return {
      mode: 'url',
      server,
      message,
      url: params.url,
      ...(typeof id === 'string' && { elicitationId: id }),
    }
  }
  if (params.mode !== undefined && params.mode !== 'form')
    return { problem: 'the mode is not one that is known' }
  return { mode: 'form', server, message, schema: own(params, 'requestedSchema') }
}

/** All steps of one elicitation. It never throws for what the server or the user sent. */
export async function elicit(
  request: Elicitation,
  ports: ElicitationPorts,
  signal?: AbortSignal,
): Promise<ElicitationAnswer> {
  const asked = await askOnce(request, ports, signal)
  return reviewed(request, asked, ports, signal)
}

async function askOnce(
  request: Elicitation,
  ports: ElicitationPorts,
  signal: AbortSignal | undefined,
): Promise<ElicitationAnswer> {
  const form = request.mode === 'form' ? readForm(request.schema) : undefined
  if (form && !form.ok) {
    ports.warn?.(`${request.server} asked for something that is not a form: ${form.problem}.`)
    return DECLINE
  }
  const url = request.mode === 'url' ? readUrl(request.url) : undefined
  if (url && !url.ok) {
    ports.warn?.(`${request.server} asked for a page that is not opened: ${url.problem}.`)
    return DECLINE
  }
  const hooked = await ports.hooks?.elicitation(request, signal)
  if (hooked) {
    const answer = form
      ? settle(form.form, hooked)
      : { answer: { action: hooked.action } as ElicitationAnswer }
    if (answer.answer) return answer.answer
    ports.warn?.(
      `A hook answered ${request.server} with what the form does not take: ${listed(answer.problems)}.`,
    )
    return DECLINE
  }
  if (!ports.ask) return CANCEL
  if (url) {
    const { server, message } = request
    const retry = request.mode === 'url' && request.retry === true
    const { action, done } = await ports.ask(
      { mode: 'url', server, message, url: url.url, warnings: url.warnings, retry },
      signal,
    )
    return action === 'accept' && done ? { action, done } : { action }
  }
  return form ? askForm(request, form.form, ports, ports.ask, signal) : CANCEL
}

async function askForm(
  request: Elicitation,
  form: Form,
  ports: ElicitationPorts,
  ask: NonNullable<ElicitationPorts['ask']>,
  signal: AbortSignal | undefined,
): Promise<ElicitationAnswer> {
  let problems: readonly FieldProblem[] = []
  for (let attempt = 0; attempt < INTERACTION_LIMITS.answerTries; attempt++) {
    const raw = await ask(
      { mode: 'form', server: request.server, message: request.message, form, problems },
      signal,
    )
    const settled = settle(form, raw)
    if (settled.answer) return settled.answer
    problems = settled.problems
  }
  ports.warn?.(`The answer to ${request.server} did not fit its form: ${listed(problems)}.`)
  return CANCEL
}

/** Hooks see the response last, and their changes are validated again. */
async function reviewed(
  request: Elicitation,
  answer: ElicitationAnswer,
  ports: ElicitationPorts,
  signal: AbortSignal | undefined,
): Promise<ElicitationAnswer> {
  const changed = await ports.hooks?.elicitationResult(request, answer, signal)
  if (!changed) return answer
  const form = request.mode === 'form' ? readForm(request.schema) : undefined
  if (!form?.ok) return { action: changed.action }
  const settled = settle(form.form, changed)
  if (settled.answer) return settled.answer
  ports.warn?.(
    `A hook changed the answer to ${request.server} to what the form does not take: ${listed(settled.problems)}.`,
  )
  return DECLINE
}

function settle(
  form: Form,
  raw: RawAnswer,
): { answer: ElicitationAnswer } | { answer?: undefined; problems: readonly FieldProblem[] } {
  if (raw.action === 'decline') return { answer: DECLINE }
  if (raw.action !== 'accept') return { answer: CANCEL }
  const checked: CheckedAnswer = checkAnswer(form, raw.content ?? {})
  return checked.ok
    ? { answer: { action: 'accept', content: checked.content } }
    : { problems: checked.problems }
}

function listed(problems: readonly FieldProblem[]): string {
  return problems
    .slice(0, 5)
    .map(({ field, message }) => `${field.slice(0, 80)} ${message}`.trim())
    .join('; ')
}

type ReadUrl =
  | { readonly ok: true; readonly url: URL; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly problem: string }

/** Only web addresses are ever opened, and a misleading address is flagged. */
export function readUrl(text: string): ReadUrl {
  if (text.length > INTERACTION_LIMITS.urlChars) return { ok: false, problem: 'the URL is too long' }
  if (!URL.canParse(text)) return { ok: false, problem: 'it is not a URL' }
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { ok: false, problem: `it is a ${url.protocol} address, and only web addresses are opened` }
  const warnings: string[] = []
  const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)
  if (url.protocol === 'http:' && !local) warnings.push('The address is not encrypted (http).')
  if (url.username !== '' || url.password !== '')
    warnings.push(`The address holds a name before the "@"; it leads to ${url.hostname}.`)
  if (/(^|\.)xn--/.test(url.hostname)) warnings.push(`The host name holds unusual letters: ${url.hostname}.`)
  return { ok: true, url, warnings }
}

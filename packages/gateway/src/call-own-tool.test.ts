// A tool of the program itself: what it gets, which tools of the servers it may call, and how it asks the client's user.
import { expect, it } from 'vitest'
import { callOwnTool } from './call-own-tool.ts'
import type { ClientRequest } from './client-request.ts'
import { bare, makeGateway } from './fixtures/kit.ts'
import { type Json, readCapabilities } from './json-rpc.ts'
import type { OwnToolContext } from './own-tool.ts'

const RULES = [
  { action: 'allow', rule: 'one', file: 'settings.json', scope: 'user' },
  { action: 'ask', rule: 'asked', file: 'settings.json', scope: 'user' },
  { action: 'deny', rule: 'denied', file: 'settings.json', scope: 'user' },
] as const

interface Wish {
  readonly capabilities?: object
  readonly answer?: Json
}

it('calls the tools that its client sees, as the rules allow', async () => {
  const gateway = await makeGateway([bare('one'), bare('asked'), bare('denied')], {}, { rules: RULES })
  await gateway.wake(20_000)
  const run = async (
    work: (context: OwnToolContext, args: Json) => Promise<Json>,
    params: Json = {},
    { capabilities = { elicitation: { form: {} } }, answer = {} }: Wish = {},
  ) => {
    const asked: Json[] = []
    const called: Json[] = []
    const told: Json[] = []
    const request = {
      id: 1,
      client: { exposure: gateway.expose, capabilities: readCapabilities(capabilities) },
      signal: new AbortController().signal,
      notify: (method: string, what: Json) => told.push({ method, ...what }),
      ask: async (_: string, what: Json) => {
        asked.push(what)
        return answer
      },
    } as unknown as ClientRequest
    const tool = {
      definition: { name: 'own' },
      call: (args: Json, context: OwnToolContext) => work(context, args),
    }
    const callTool = async (inner: Json) => {
      called.push(inner)
      return { content: [] }
    }
    const result = await callOwnTool(gateway, tool, params, request, callTool).catch((error: Error) => ({
      thrown: error.message,
    }))
    return { result, asked, called, told }
  }
  const calls =
    (name: string, args: Json = { a: 1 }) =>
    (context: OwnToolContext) =>
      context.callTool(name, args)
  expect((await run(async (_, args) => args, { arguments: { a: 1 } })).result).toEqual({ a: 1 })
  expect((await run(async (_, args) => args, { arguments: 'x' })).result).toEqual({})
  expect((await run(async ({ tools }) => ({ n: tools.length }))).result).toEqual({ n: 2 })
  expect((await run(calls('mcp__none__x'))).result).toMatchObject({
    thrown: expect.stringContaining('mcp__none__x'),
  })

  const allowed = await run(calls('mcp__one__given'))
  expect([allowed.asked, allowed.called]).toEqual([[], [{ name: 'mcp__one__given', arguments: { a: 1 } }]])
  const denied = await run(calls('mcp__denied__given'))
  expect([denied.asked, denied.called]).toEqual([[], []])

  const name = 'mcp__asked__given'
  const yes = await run(calls(name), {}, { answer: { action: 'accept', content: { answer: 'once' } } })
  expect([yes.asked.length, yes.called.length]).toEqual([1, 1])
  expect(yes.asked[0]).toMatchObject({ mode: 'form', message: expect.stringContaining(name) })
  for (const answer of [
    { action: 'accept', content: { answer: 'no' } },
    { action: 'decline', content: { answer: 'once' } },
    { action: 'accept', content: 'once' },
    { action: 'accept' },
    {},
  ]) {
    const no = await run(calls(name), {}, { answer })
    expect(no.called).toEqual([])
    expect(no.result).toMatchObject({
      isError: true,
      content: [{ text: `${name} was not called: the user said no.` }],
    })
  }
  const mute = await run(calls(name), {}, { capabilities: {} })
  expect([mute.asked, mute.called]).toEqual([[], []])
  expect(mute.result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('permissions.allow') }],
  })
  const long = await run(calls(name, { text: 'x'.repeat(4_000_001) }))
  expect([long.asked, long.called]).toEqual([[], []])
  expect(long.result).toMatchObject({ content: [{ text: expect.stringContaining('too large to be shown') }] })

  const progresses = async (context: OwnToolContext) => {
    context.progress('a')
    context.progress('b')
    return {}
  }
  for (const progressToken of ['t', 7])
    expect((await run(progresses, { _meta: { progressToken } })).told).toEqual([
      { method: 'notifications/progress', progressToken, progress: 1, message: 'a' },
      { method: 'notifications/progress', progressToken, progress: 2, message: 'b' },
    ])
  for (const _meta of [{ progressToken: {} }, {}, 'x', undefined])
    expect((await run(progresses, { _meta })).told).toEqual([])
})

import { describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { clientCapabilities } from './capabilities.ts'
import { elicit, type Prompt, type RawAnswer, readElicitation, readUrl } from './elicitation.ts'
import { checkAnswer, readForm } from './form.ts'
import { type Hook, Hooks } from './hooks.ts'
import { rootsOf } from './roots.ts'
import { Sampling, type SamplingConsent } from './sampling.ts'

/** Every kind of field. */
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', minLength: 2, maxLength: 5 },
    mail: { type: 'string', format: 'email' },
    age: { type: 'integer', minimum: 0, maximum: 150, default: 30 },
    share: { type: 'number' },
    news: { type: 'boolean', default: true },
    colour: { type: 'string', enum: ['r', 'g'], enumNames: ['Red', 'Green'], default: 'g' },
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    days: {
      type: 'array',
      items: { type: 'string', enum: ['mon', 'tue'] },
      minItems: 1,
      maxItems: 2,
      default: ['mon'],
    },
    tags: { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }] } },
  },
  required: ['name'],
}
const form = (() => {
  const read = readForm(schema)
  if (!read.ok) throw new Error(read.problem)
  return read.form
})()
const answered = (answer: unknown) => {
  const checked = checkAnswer(form, answer)
  return checked.ok ? checked.content : checked.problems.map(({ field, message }) => `${field} ${message}`)
}

describe('a form', () => {
  it('knows every kind of field', () => {
    expect(form.fields.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
      'name: text',
      'mail: text',
      'age: number',
      'share: number',
      'news: boolean',
      'colour: choice',
      'size: choice',
      'days: choices',
      'tags: choices',
    ])
    expect(form.fields[5]).toMatchObject({
      options: [
        { value: 'r', label: 'Red' },
        { value: 'g', label: 'Green' },
      ],
    })
  })

  it('fills in the defaults', () => {
    expect(answered({ name: 'Ann' })).toEqual({
      name: 'Ann',
      age: 30,
      news: true,
      colour: 'g',
      days: ['mon'],
    })
  })

  it.each([
    [{}, 'name is required'],
    [{ name: 'A' }, 'name must have at least 2 characters'],
    [{ name: 'Annabel' }, 'name must have at most 5 characters'],
    [{ name: 'Ann', mail: 'x' }, 'mail must be a valid email'],
    [{ name: 'Ann', age: 1.5 }, 'age must be a whole number'],
    [{ name: 'Ann', age: 200 }, 'age must be at most 150'],
    [{ name: 'Ann', age: '7' }, 'age must be a number'],
    [{ name: 'Ann', news: 'yes' }, 'news must be yes or no'],
    [{ name: 'Ann', colour: 'b' }, 'colour must be one of r, g'],
    [{ name: 'Ann', days: [] }, 'days needs at least 1 choices'],
    [{ name: 'Ann', days: ['mon', 'mon'] }, 'days must not hold the same choice twice'],
    [{ name: 'Ann', days: ['sun'] }, 'days must be some of mon, tue'],
    [{ name: 'Ann', extra: 1 }, 'extra was not asked for'],
    ['Ann', ' the answer is not an object'],
  ])('refuses %j: %s', (answer, problem) => {
    expect(answered(answer)).toEqual([problem])
  })

  it('flags fields that look like secrets', () => {
    for (const name of ['password', 'apiKey', 'access_token', 'userPIN', 'card-number', 'client_secret']) {
      const read = readForm({ properties: { [name]: { type: 'string' } } })
      expect(read.ok && read.form.fields[0]?.secret, name).toBe(true)
      expect(read.ok && read.form.warnings).toHaveLength(1)
    }
    const plain = readForm({ properties: { pinColour: { type: 'string' }, author: { type: 'string' } } })
    expect(plain.ok && plain.form.fields[1]?.secret).toBe(false)
    const titled = readForm({ properties: { a: { type: 'string', title: 'Your password' } } })
    expect(titled.ok && titled.form.warnings).toHaveLength(1)
  })

  it.each([
    ['no schema', undefined],
    ['an array', []],
    ['a nested object', { properties: { a: { type: 'object', properties: {} } } }],
    ['an array of anything', { properties: { a: { type: 'array', items: { type: 'string' } } } }],
    ['a field that is no schema', { properties: { a: 7 } }],
    [
      'too many fields',
      {
        properties: Object.fromEntries(Array.from({ length: 999 }, (_, i) => [`f${i}`, { type: 'string' }])),
      },
    ],
  ])('says no to %s', (_, bad) => {
    expect(readForm(bad).ok).toBe(false)
  })

  it('does not reach the prototype', () => {
    const odd = readForm(
      JSON.parse('{"properties": {"__proto__": {"type": "string"}}, "required": ["__proto__"]}'),
    )
    if (!odd.ok) throw new Error(odd.problem)
    const checked = checkAnswer(odd.form, JSON.parse('{"__proto__": "x"}'))
    expect(checked.ok && Object.keys(checked.content)).toEqual(['__proto__'])
    expect(checkAnswer(odd.form, {}).ok).toBe(false)
  })
})

const hooks = (...list: Hook[]) => new Hooks(list, { host: systemHost() })
const replies = (...answers: RawAnswer[]) => {
  const prompts: Prompt[] = []
  return {
    prompts,
    ask: async (prompt: Prompt): Promise<RawAnswer> => {
      prompts.push(prompt)
      return answers.shift() ?? { action: 'cancel' }
    },
  }
}
const question = {
  mode: 'form',
  server: 's',
  message: 'Who?',
  schema: { properties: { name: { type: 'string' } }, required: ['name'] },
} as const

describe('a question from a server', () => {
  it.each(['decline', 'cancel'] as const)('may be answered with %s', async (action) => {
    expect(await elicit(question, replies({ action }))).toEqual({ action })
  })

  it('is answered with what fits the form, after showing what did not', async () => {
    const user = replies({ action: 'accept', content: {} }, { action: 'accept', content: { name: 'Ann' } })
    expect(await elicit(question, user)).toEqual({ action: 'accept', content: { name: 'Ann' } })
    expect(user.prompts[1]).toMatchObject({ problems: [{ field: 'name', message: 'is required' }] })
  })

  it('is cancelled after too many answers that do not fit, and when no user is there', async () => {
    const wrong: RawAnswer = { action: 'accept', content: { name: 1 } }
    const user = replies(wrong, wrong, wrong, wrong, wrong)
    expect(await elicit(question, user)).toEqual({ action: 'cancel' })
    expect(user.prompts).toHaveLength(3)
    expect(await elicit(question, {})).toEqual({ action: 'cancel' })
  })

  it('is declined, with a warning, when it is not a form', async () => {
    const warnings: string[] = []
    const ports = { ...replies(), warn: (text: string) => warnings.push(text) }
    expect(await elicit({ ...question, schema: 'x' }, ports)).toEqual({ action: 'decline' })
    expect(warnings).toEqual([
      's asked for something that is not a form: the requested schema is not an object.',
    ])
    expect(ports.prompts).toEqual([])
  })

  it('may be answered by a hook instead of the user', async () => {
    const user = replies()
    const hook: Hook = {
      event: 'Elicitation',
      matcher: 's',
      run: {
        kind: 'function',
        call: (input) => ({
          hookSpecificOutput: { action: 'accept', content: { name: String(input.message) } },
        }),
      },
    }
    expect(await elicit(question, { ...user, hooks: hooks(hook) })).toEqual({
      action: 'accept',
      content: { name: 'Who?' },
    })
    expect(user.prompts).toEqual([])
  })

  it('may have its answer changed by a hook, within the form', async () => {
    const change = (content: unknown): Hook => ({
      event: 'ElicitationResult',
      run: { kind: 'function', call: () => ({ action: 'accept', content }) },
    })
    const user = () => replies({ action: 'accept', content: { name: 'Ann' } })
    expect(await elicit(question, { ...user(), hooks: hooks(change({ name: 'Bea' })) })).toEqual({
      action: 'accept',
      content: { name: 'Bea' },
    })
    expect(await elicit(question, { ...user(), hooks: hooks(change({ name: 5 })) })).toEqual({
      action: 'decline',
    })
  })

  it('may send the user to a web address and nowhere else', async () => {
    const url = (text: string) => ({ mode: 'url', server: 's', message: 'Sign in', url: text }) as const
    const user = replies({ action: 'accept' })
    expect(await elicit(url('https://example.com/x'), user)).toEqual({ action: 'accept' })
    for (const bad of [
      'file:///etc/passwd',
      'javascript:alert(1)',
      'not a url',
      `https://a/${'x'.repeat(9000)}`,
    ])
      expect(await elicit(url(bad), user)).toEqual({ action: 'decline' })
    expect(user.prompts).toHaveLength(1)
  })

  it('is told apart by mode, whatever the server sends', () => {
    expect(readElicitation('s', { message: 'm', requestedSchema: {} })).toMatchObject({ mode: 'form' })
    expect(readElicitation('s', { mode: 'url', url: 'https://a', elicitationId: '1' })).toMatchObject({
      mode: 'url',
      elicitationId: '1',
    })
    for (const bad of [null, 1, { mode: 'url' }, { mode: 'dance' }])
      expect(readElicitation('s', bad)).toHaveProperty('problem')
  })

  it('names what could mislead about an address', () => {
    expect(readUrl('https://example.com/')).toMatchObject({ warnings: [] })
    expect(readUrl('http://localhost:8080/')).toMatchObject({ warnings: [] })
    expect(readUrl('http://example.com/')).toMatchObject({
      warnings: [expect.stringContaining('not encrypted')],
    })
    expect(readUrl('https://bank.com@evil.com/')).toMatchObject({
      warnings: [expect.stringContaining('evil.com')],
    })
    expect(readUrl('https://bаnk.com/')).toMatchObject({ warnings: [expect.stringContaining('xn--')] })
  })
})

describe('sampling', () => {
  const message = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 100_000 }
  const sampling = (over: { consents?: SamplingConsent[]; now?: () => number; tokens?: number } = {}) => {
    const consents = over.consents ?? []
    const seen: number[] = []
    return {
      seen,
      asked: consents,
      server: new Sampling({
        host: { now: over.now ?? (() => 0) },
        consent: async () => consents.shift() ?? 'no',
        model: async ({ maxTokens }) => {
          seen.push(maxTokens)
          return {
            role: 'assistant',
            content: { type: 'text', text: 'ho' },
            model: 'm',
            tokens: over.tokens ?? 10,
          }
        },
        perMinute: 3,
        sessionTokens: 100,
      }),
    }
  }

  it('happens with consent, never above the token limit', async () => {
    const { server, seen } = sampling({ consents: ['once'] })
    expect(await server.createMessage('s', message)).toMatchObject({ role: 'assistant' })
    expect(seen).toEqual([4096])
    await expect(server.createMessage('s', message)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  it('remembers a consent for the session, for that server alone', async () => {
    const { server, seen } = sampling({ consents: ['session'] })
    await server.createMessage('s', message)
    await server.createMessage('s', message)
    expect(seen).toHaveLength(2)
    await expect(server.createMessage('t', message)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  it('is limited by the minute and by the session', async () => {
    let now = 0
    const minute = sampling({ consents: ['session'], now: () => now }).server
    for (let count = 0; count < 3; count++) await minute.createMessage('s', message)
    await expect(minute.createMessage('s', message)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
    now = 60_001
    await minute.createMessage('s', message)
    const session = sampling({ consents: ['session'], tokens: 60 }).server
    await session.createMessage('s', message)
    await session.createMessage('s', message)
    await expect(session.createMessage('s', message)).rejects.toMatchObject({ code: 'PERMISSION_DENIED' })
  })

  it.each([
    [null],
    [{}],
    [{ messages: [] }],
    [{ messages: [{ role: 'system' }] }],
    [{ messages: [{ role: 'user', content: 'x'.repeat(500_000) }] }],
  ])('refuses what is not a request', async (bad) => {
    await expect(sampling().server.createMessage('s', bad)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })
})

describe('roots and capabilities', () => {
  it('names each folder once, as a URI', () => {
    expect(rootsOf(['.', '/w/a b', '/w'], '/w')).toEqual([
      { uri: 'file:///w', name: 'w' },
      { uri: 'file:///w/a%20b', name: 'a b' },
    ])
  })

  it('advertises only what is served', () => {
    expect(clientCapabilities({ forms: false, urls: false, sampling: false, roots: false })).toEqual({})
    expect(clientCapabilities({ forms: true, urls: false, sampling: true, roots: true })).toEqual({
      elicitation: { form: {} },
      sampling: {},
      roots: { listChanged: false },
    })
  })
})

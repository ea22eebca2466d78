// Elicitation with `buttons` and `input`: as data, and from a real server to the user's form and the hooks.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openBoard } from '../board/open.ts'
import { readForm } from '../interaction/form.ts'
import type { Hook, Prompt } from '../interaction/index.ts'
import { withRequestedSchema } from './older-elicitation.ts'

const formOf = (params: Record<string, unknown>) => readForm(withRequestedSchema(params)['requestedSchema'])

describe('the older shape as a schema', () => {
  it.each([
    ['a text', { input: { type: 'text' } }, [{ name: 'input', kind: 'text', required: true }]],
    [
      'a text with a label and a default',
      { input: { type: 'text', label: 'Name', default: 'Ann' } },
      [{ title: 'Name', default: 'Ann' }],
    ],
    ['a text that may be empty', { input: { type: 'text', required: false } }, [{ required: false }]],
    [
      'a select of texts',
      { input: { type: 'select', options: ['a', 'b'] } },
      [
        {
          kind: 'choice',
          options: [
            { value: 'a', label: 'a' },
            { value: 'b', label: 'b' },
          ],
        },
      ],
    ],
    [
      'a select of labels',
      { input: { type: 'select', options: [{ label: 'A', value: 'a' }] } },
      [{ options: [{ value: 'a', label: 'A' }] }],
    ],
    ['buttons', { buttons: ['Yes', 'No'] }, [{ name: 'button', kind: 'choice', required: true }]],
    [
      'buttons with values',
      { buttons: [{ label: 'Yes', value: 'y' }] },
      [{ options: [{ value: 'y', label: 'Yes' }] }],
    ],
    [
      'both',
      { input: { type: 'text', name: 'why' }, buttons: ['OK'] },
      [{ name: 'why' }, { name: 'button' }],
    ],
  ])('%s', (_, params, fields) => {
    expect(formOf(params)).toMatchObject({ ok: true, form: { fields } })
  })

  it.each([
    ['no options', { input: { type: 'select' } }],
    ['an input of another kind', { input: { type: 'file' } }],
    ['an input that is none', { input: 'text' }],
    ['buttons that are none', { buttons: 'Yes' }],
    ['a button without a label', { buttons: [{}] }],
    ['too many options', { input: { type: 'select', options: Array.from({ length: 600 }, String) } }],
    ['a name that is a prototype', { input: { type: 'file', name: '__proto__' } }],
  ])('is no form with %s', (_, params) => {
    expect(formOf(params)).toMatchObject({ ok: false })
  })

  it('leaves the shape of today alone', () => {
    const today = { message: 'm', requestedSchema: { type: 'object' }, buttons: ['x'] }
    expect(withRequestedSchema(today)).toBe(today)
    const plain = { message: 'm' }
    expect(withRequestedSchema(plain)).toBe(plain)
  })
})

const SERVER = `
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
let call
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, result, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'ask', inputSchema: { type: 'object' } }] } })
  else if (method === 'tools/call') {
    call = id
    send({ id: 'q', method: 'elicitation/create', params: { message: 'Which?', buttons: ['Go', 'Stop'], input: { type: 'select', options: ['a', 'b'] } } })
  } else if (id === 'q') send({ id: call, result: { content: [{ type: 'text', text: JSON.stringify(result) }] } })
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'no' } })
})
`

describe('a server that asks in the older shape', () => {
  let top: string
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'plugboard-older-elicitation-'))
    writeFileSync(join(top, 'server.cjs'), SERVER)
  })
  afterEach(() => rmSync(top, { recursive: true, force: true }))

  async function answered(options: { elicit?: (prompt: Prompt) => unknown; hooks?: readonly Hook[] }) {
    const { elicit, hooks } = options
    await using board = await openBoard({
      servers: { old: { command: process.execPath, args: [join(top, 'server.cjs')] } },
      caller: 'user',
      ...(hooks && { hooks }),
      elicit: async (prompt) => (elicit?.(prompt) ?? { action: 'cancel' }) as { action: 'cancel' },
    })
    const { content } = await board.call('old.ask', {})
    const [block] = content
    return JSON.parse(block && 'text' in block ? block.text : '')
  }

  it('gets the answer of the form', async () => {
    const prompts: Prompt[] = []
    const elicit = (prompt: Prompt) => {
      prompts.push(prompt)
      return { action: 'accept', content: { input: 'b', button: 'Go' } }
    }
    expect(await answered({ elicit })).toEqual({ action: 'accept', content: { input: 'b', button: 'Go' } })
    expect(prompts).toMatchObject([
      { message: 'Which?', form: { fields: [{ name: 'input' }, { name: 'button' }] } },
    ])
  })

  it('gets the answer of an Elicitation hook, which sees the schema', async () => {
    const seen: unknown[] = []
    const hook: Hook = {
      event: 'Elicitation',
      run: {
        kind: 'function',
        call: (input) => {
          seen.push(input)
          return { hookSpecificOutput: { action: 'accept', content: { input: 'a', button: 'Stop' } } }
        },
      },
    }
    expect(await answered({ hooks: [hook] })).toEqual({
      action: 'accept',
      content: { input: 'a', button: 'Stop' },
    })
    expect(seen).toMatchObject([{ requested_schema: { required: ['input', 'button'] } }])
  })
})

// Skills in a real conversation: a real server that has them, a real board, a scripted model.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBoard, type PermissionAnswer, type PermissionQuestion } from '@plugboard/core'
import { systemHost } from '@plugboard/core/host'
import { afterEach, describe, expect, it } from 'vitest'
import type { AgentEvent } from './events.ts'
import { modelServer, type ScriptedRequest } from './fixtures/model-server.mjs'
import { runAgent } from './loop.ts'
import { userMessage } from './messages.ts'
import { chooseModel } from './models/choose.ts'

const SKILLS = fileURLToPath(new URL('../../core/src/skills/fixtures/official.mjs', import.meta.url))
const host = systemHost({ env: { ...process.env, ENABLE_TOOL_SEARCH: undefined } })

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function talk(args: Readonly<Record<string, unknown>>, answer: PermissionAnswer) {
  const asked: PermissionQuestion[] = []
  const requests: ScriptedRequest[] = []
  const model = await modelServer((request) => {
    requests.push(request)
    return request.results.length === 0
      ? { calls: [{ name: 'read_skill', arguments: args }] }
      : { text: `READ ${request.results[0]?.text}` }
  })
  closers.push(() => model.close())
  const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-agent-skills-'))
  closers.push(() => rmSync(stateDir, { recursive: true, force: true, maxRetries: 3 }))
  const permissions = { readPermission: 'ask' } as const
  const entry = { type: 'stdio', command: process.execPath, args: [SKILLS], env: {}, permissions } as const
  const board = await openBoard({
    stateDir,
    host,
    servers: [{ name: 'docs', scope: 'dynamic', source: 'test', entry, signature: 'docs' }],
    ask: async (question) => {
      asked.push(question)
      return answer
    },
  })
  closers.push(() => board.close())
  await board.ready()
  const events: AgentEvent[] = []
  const chosen = chooseModel({ host, api: 'openai', model: 'scripted', baseUrl: model.baseUrl('openai') })
  for await (const event of runAgent({
    board,
    model: chosen,
    host,
    messages: [userMessage('Fill the form')],
  }))
    events.push(event)
  const done = events.find((event) => event.type === 'done')
  return { text: done?.text ?? '', requests, asked }
}

describe('an agent with skills', () => {
  it('tells the model their names, and reads one when it asks and the user agrees', async () => {
    const { text, requests, asked } = await talk({ skill: 'docs/pdf-processing' }, 'once')
    expect(requests[0]?.system).toContain('- docs/pdf-processing: Extract, fill and assemble PDF documents')
    expect(requests[0]?.system).not.toContain('See [the forms]')
    expect(requests[0]?.tools).toContain('read_skill')
    expect(asked).toHaveLength(1)
    expect(text).toContain('See [the forms]')
    expect(text).toContain('references/FORMS.md')
  })

  it('reads its other files, and lists the existing ones when a file is missing', async () => {
    const forms = await talk({ skill: 'docs/pdf-processing', file: 'references/FORMS.md' }, 'once')
    expect(forms.text).toBe('READ Forms have fields.\n')
    const wrong = await talk({ skill: 'docs/nope' }, 'once')
    expect(wrong.text).toContain('Available: docs/pdf-processing, docs/wide-tables.')
  })

  it('reads nothing when the user says no', async () => {
    const { text } = await talk({ skill: 'docs/pdf-processing' }, 'no')
    expect(text).not.toContain('See [the forms]')
  })
})

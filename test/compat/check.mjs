// check.mjs: one real server through the public API: connect, list, convert, call, close, and nothing left behind.
// It returns data; printing and judging are left to the callers.
import { randomUUID } from 'node:crypto'
import { openBoard, systemHost } from '@plugboard/core'
import { findBrowser } from '../../scripts/ensure-browser.mjs'
import { launch, makePlace } from './place.mjs'
import { endAll, familyOf, leftRunning, MARK } from './processes.mjs'
import { schemaComplaints } from './schemas.mjs'
import { sdkAlone } from './sdk-alone.mjs'

const NAME = 'server'
const CONNECT_MS = 45_000
const LIST_MS = 20_000
const CALL_MS = 30_000
const MODERN = '2026-07-28'
const PROBLEMS = 5

/** `program` is how the server is run: a command and its first arguments. Every process of it will carry the mark. */
export function checkServer(server, program, mark = randomUUID()) {
  return inPlace(server, program, mark, useEverything)
}

/** What the bare SDK client makes of the same server, in brief. */
export async function checkWithSdk(server, program, mark = randomUUID()) {
  const { problems, said } = await inPlace(server, program, mark, sdkAlone)
  return problems[0] ?? said
}

/** Gives `use` a started server of its own, in a folder of its own, and checks what is left when it is done. */
async function inPlace(server, program, mark, use) {
  const place = makePlace(server)
  const found = { name: server.name, problems: [] }
  const problem = (text) => found.problems.length < PROBLEMS && found.problems.push(oneLine(text))
  let started
  try {
    started = await launch(server, place, { ...program, env: { [MARK]: mark } })
    await use({ server, place, mark, entry: started.entry, found, problem })
  } catch (error) {
    problem(told(error))
  } finally {
    await started?.stop()
    endAll(familyOf(mark))
    place.remove()
  }
  return found
}

async function useEverything({ server, place, mark, entry, found, problem }) {
  const { home, work } = place
  const patienceMs = server.patienceMs ?? CONNECT_MS
  const noise = { stdout: 0, stderr: 0 }
  const board = await openBoard({
    cwd: work,
    host: systemHost({ home, env: place.env }),
    stateDir: `${home}/state`,
    config: { servers: { [NAME]: entry }, strict: true, withoutBuiltins: true },
    caller: 'user',
    timeoutMs: patienceMs,
  })
  board.on('log', ({ line }) => {
    if (Object.hasOwn(noise, line.stream)) noise[line.stream]++
  })
  try {
    await board.ready({ timeoutMs: patienceMs + 5000 })
    const [{ state, error, protocolVersion, connectMs }] = board.servers()
    if (state !== 'connected') throw error ?? new Error(`it is ${state} after ${patienceMs} ms`)
    Object.assign(found, { protocolVersion, era: protocolVersion >= MODERN ? 'modern' : 'legacy', connectMs })
    Object.assign(found, await lists(board, problem))
    for (const complaint of await schemaComplaints(board.tools())) problem(complaint)
    if (server.call) found.called = await callHarmless(board, server.call, place, problem)
  } finally {
    await closeWithout(board, entry.type === 'stdio' ? mark : undefined, found, problem)
    found.noise = noise
  }
}

async function lists(board, problem) {
  const signal = AbortSignal.timeout(LIST_MS)
  // One list that fails must not hide the others.
  const count = async (what) => {
    try {
      return (await board[what]({ server: NAME, signal })).length
    } catch (error) {
      problem(`${what} cannot be listed: ${told(error)}`)
      return undefined
    }
  }
  const tools = board.tools()
  const listed = await board.link.request(NAME, 'tools/list', {}, { signal })
  for (const { name } of listed.tools)
    if (!tools.some(({ mcpInfo }) => mcpInfo.toolName === name))
      problem(`its tool ${name} is not on the board`)
  return {
    tools: tools.length,
    resources: await count('resources'),
    templates: await count('templates'),
    prompts: await count('prompts'),
  }
}

/** The tool that was called; none where it needs what is not here. */
async function callHarmless(board, { tool, args = {}, answer, needs }, place, problem) {
  if (needs === 'browser' && !findBrowser()) return undefined
  const given = typeof args === 'function' ? args(place) : args
  const { isError, content } = await board.call(`${NAME}.${tool}`, given, { timeoutMs: CALL_MS })
  const text = content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n')
  if (isError) problem(`${tool} answered with an error: ${text}`)
  else if (!answer.test(text)) problem(`${tool} answered something else: ${text}`)
  return tool
}

/** Closes, and for a server that the board itself started also checks for everything that it started in turn. */
async function closeWithout(board, mark, found, problem) {
  const before = mark && familyOf(mark)
  const start = performance.now()
  await board.close()
  found.closeMs = Math.round(performance.now() - start)
  if (!mark) return
  found.processes = before?.length
  const left = await leftRunning(mark, before)
  if (left.length > 0)
    problem(`left running: ${left.map(({ pid, command }) => `${command} (${pid})`).join(', ')}`)
}

function told(error) {
  const hint = error.hint ? ` (${error.hint})` : ''
  return `${error.code ? `${error.code}: ` : ''}${error.message}${hint}`
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').slice(0, 300)
}

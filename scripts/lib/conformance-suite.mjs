// conformance-suite.mjs: the official MCP conformance suite as a child process: what it lists, and one scenario at a time
// with a timeout. The two halves say what a scenario's outcome means.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeIn, onDemand } from './on-demand.mjs'

export const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12'
export const REVISIONS = ['2025-11-25', '2026-07-28']
export const SCENARIO_MS = 45_000
const LIST_MS = 30_000

export class Suite {
  #folder = onDemand('conformance-0.2.0-alpha.12', [SUITE, 'node@24'])
  #script = join(this.#folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')

  /** What each revision requires of a side ("client" or "server"), and what it reports beside that. */
  scenarios(side) {
    const found = []
    const title = new RegExp(`^${side === 'client' ? 'Client' : 'Server'} scenarios.*$`, 'm')
    for (const revision of REVISIONS) {
      const [required = '', beside = ''] = this.list(['--requirements', revision]).split(/^Run and reported/m)
      const own = (required.split(title)[1] ?? '').split(/^\S/m)[0] ?? ''
      for (const [, name] of own.matchAll(/^ {2}- (\S+)$/gm)) found.push({ name, revision, scored: true })
      for (const [, name] of beside.matchAll(new RegExp(`^ {4}- (\\S+) \\[${side}\\]$`, 'gm')))
        found.push({ name, revision, scored: false })
    }
    return found
  }

  list(args) {
    const done = spawnSync(nodeIn(this.#folder), [this.#script, 'list', ...args], {
      encoding: 'utf8',
      timeout: LIST_MS,
    })
    if (done.status !== 0)
      throw new Error(`The suite does not list its scenarios: ${done.stderr || done.error}`)
    return done.stdout
  }

  /** How the suite ended, what it printed, and every check that it made. */
  async run({ name, revision, scored }, args) {
    const results = mkdtempSync(join(tmpdir(), 'plugboard-conformance-results-'))
    try {
      const version = revision ? ['--spec-version', revision, ...(scored ? [] : ['--force'])] : []
      const ended = await this.#bounded([...args, '--scenario', name, ...version, '-o', results])
      return { ...ended, checks: checksIn(results) }
    } finally {
      rmSync(results, { recursive: true, force: true })
    }
  }

  /** Every scenario has a timeout: the suite, and with it the client, is stopped as one process group. */
  #bounded(args) {
    return new Promise((resolve) => {
      const child = spawn(nodeIn(this.#folder), [this.#script, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: process.platform !== 'win32',
      })
      let output = ''
      let timedOut = false
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => {
          output = (output + text).slice(-1_000_000)
        })
      const timer = setTimeout(() => {
        timedOut = true
        if (process.platform === 'win32') child.kill()
        else process.kill(-child.pid, 'SIGKILL')
      }, SCENARIO_MS)
      const end = (code) => {
        clearTimeout(timer)
        resolve({ code, output, timedOut })
      }
      child.on('error', (error) => {
        output += String(error)
        end(1)
      })
      child.on('close', end)
    })
  }
}

function checksIn(results) {
  const [folder] = readdirSync(results, { recursive: true }).filter((path) => path.endsWith('checks.json'))
  return folder ? JSON.parse(readFileSync(join(results, folder), 'utf8')) : []
}

export function counted(checks) {
  const count = (status) => checks.filter((check) => check.status === status).length
  return { passed: count('SUCCESS'), checks: count('SUCCESS') + count('FAILURE') + count('WARNING') }
}

/** Whether a check of the scenario's own has seen something: the suite passes a client that never does what a scenario is about. */
export function sawSomething(checks) {
  return checks.some(({ id, status }) => status === 'SUCCESS' && !id.startsWith('wire-schema-'))
}

export function firstComplaint(checks) {
  for (const status of ['FAILURE', 'WARNING', 'SKIPPED'])
    for (const check of checks) {
      const { id, errorMessage, description } = check
      if (check.status === status)
        return `${id}: ${(errorMessage ?? description).split('\n', 1)[0].slice(0, 200)}`
    }
  return undefined
}

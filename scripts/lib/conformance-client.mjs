// conformance-client.mjs: the client half: what each revision requires of a client, against test/conformance/client.mjs.
import { join } from 'node:path'
import { root } from '../ensure-install.mjs'
import { groups, score, whenAndWith } from './conformance-report.mjs'
import { counted, firstComplaint, SCENARIO_MS, sawSomething } from './conformance-suite.mjs'
import { markdownTable, plainTable } from './table.mjs'

const CLIENT_MS = 30_000

/** What is known not to work, and why. A scenario here that passes is reported too: then its line must go. */
const EXPECTED = new Map()

/**
 * Where the client must not get through, and what must have stopped it: the suite only sees that no token was requested,
 * which a client that crashed would achieve as well.
 */
const MUST_STOP = new Map([
  ['auth/scope-retry-limit', 'AUTH_REQUIRED'],
  ['auth/resource-mismatch', 'resource-mismatch'],
  ['auth/iss-supported-missing', 'issuer-mismatch'],
  ['auth/iss-wrong-issuer', 'issuer-mismatch'],
  ['auth/iss-unexpected', 'issuer-mismatch'],
  ['auth/iss-normalized', 'issuer-mismatch'],
  ['auth/metadata-issuer-mismatch', 'issuer-mismatch'],
  ['sep-2640-client-verify-digest', 'digest'],
  ['sep-2640-client-verify-size', 'size'],
  ['sep-2640-client-verify-frontmatter', 'frontmatter'],
])

export class ClientHalf {
  name = 'client'
  #suite
  #command = `"${process.execPath}" "${join(root, 'test/conformance/client.mjs')}"`

  constructor(suite) {
    this.#suite = suite
  }

  /** What each revision requires of a client, what it reports beside that, and the rest of what the suite has. */
  scenarios() {
    const found = this.#suite.scenarios('client')
    const known = new Set(found.map(({ name }) => name))
    const all =
      (this.#suite.list(['--client']).split(/^Client scenarios.*$/m)[1] ?? '').split(/^\S/m)[0] ?? ''
    for (const [, name] of all.matchAll(/^ {2}- (\S+) \[/gm))
      if (!known.has(name)) found.push({ name, revision: undefined, scored: false })
    return found
  }

  async *run(scenarios) {
    for (const scenario of scenarios) {
      const args = ['client', '--command', this.#command, '--timeout', String(CLIENT_MS)]
      const ended = await this.#suite.run(scenario, args)
      yield { ...scenario, ...judge(scenario.name, ended), output: ended.output }
    }
  }

  isSurprise({ name, verdict }) {
    return (verdict === 'passed') === EXPECTED.has(name)
  }

  table(outcomes) {
    return plainTable(rows(outcomes))
  }

  page(outcomes) {
    return [
      '## As a client',
      '',
      `\`npm run conformance -- --client\`: against a small program on the public API (test/conformance/client.mjs), ${whenAndWith()}.`,
      '',
      markdownTable(rows(outcomes)),
      ...groups(outcomes).flatMap(([title, members]) => [
        '',
        `### Client: ${title}`,
        '',
        markdownTable([['scenario', 'outcome', 'checks', 'why'], ...members.map(line)]),
      ]),
    ]
  }
}

function rows(outcomes) {
  return [
    ['client scenarios', 'passed', 'checks'],
    ...groups(outcomes).map(([title, members]) => [title, ...score(members)]),
  ]
}

function line({ name, verdict, passed, checks, why }) {
  return [name, verdict, `${passed} of ${checks}`, verdict === 'passed' ? '' : (EXPECTED.get(name) ?? why)]
}

function judge(name, { code, timedOut, output, checks }) {
  const facts = counted(checks)
  if (timedOut) return { ...facts, verdict: 'failed', why: `no end within ${SCENARIO_MS} ms` }
  if (code !== 0)
    return { ...facts, verdict: 'failed', why: firstComplaint(checks) ?? 'the client ended with an error' }
  const [, stoppedBy] = output.match(/^ended with (\S+)$/m) ?? []
  if (stoppedBy !== MUST_STOP.get(name))
    return { ...facts, verdict: 'failed', why: `the client ended with ${stoppedBy ?? 'no error'}` }
  if (!sawSomething(checks))
    return { ...facts, verdict: 'vacuous', why: firstComplaint(checks) ?? 'no check was made' }
  return { ...facts, verdict: 'passed', why: 'passes although it is not expected to' }
}

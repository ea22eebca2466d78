import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { AUDIT_LIMITS } from '../limits.ts'
import { type AuditEvent, AuditLog } from './audit.ts'
import { readAudit, verifyAudit } from './audit-verify.ts'
import { redact, redactText } from './redact.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audit-'))
  path = join(folder, 'state', 'audit.jsonl')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const event = (over: Partial<AuditEvent> = {}): AuditEvent => ({
  server: 'git',
  tool: 'log',
  decision: {
    outcome: 'allow',
    reason: { kind: 'rule', text: 'the rule "mcp__git" says allow', rule: 'mcp__git', source: 's.json' },
  },
  outcome: 'ok',
  ...over,
})
const log = (over = {}) => new AuditLog({ path, host: systemHost(), ...over })
const write = async (count: number, over = {}) => {
  const audit = log(over)
  for (let index = 0; index < count; index++) audit.record(event({ arguments: { index } }))
  await audit.flush()
}
const lines = async () => (await readFile(path, 'utf8')).trimEnd().split('\n')

describe('the audit log', () => {
  it('records decision, rule, file, server, tool, time and outcome', async () => {
    await write(1, { host: systemHost({ now: () => 0 }) })
    expect(JSON.parse((await lines())[0] ?? '')).toMatchObject({
      seq: 1,
      time: '1970-01-01T00:00:00.000Z',
      server: 'git',
      tool: 'log',
      decision: 'allow',
      rule: 'mcp__git',
      source: 's.json',
      outcome: 'ok',
    })
  })

  it('is one chain over many writers, one after another and at once', async () => {
    await write(3)
    await Promise.all([write(20), write(20)])
    expect(await verifyAudit(path)).toEqual({ ok: true, lines: 43, firstSeq: 1, rotatedAway: 0 })
  })

  it('is one chain over two processes', async () => {
    const writer = fileURLToPath(new URL('./fixtures/audit-writer.mjs', import.meta.url))
    const exits = [1, 2].map(
      () =>
        new Promise((done) => {
          fork(writer, [path, '25'], { stdio: 'inherit' }).on('exit', done)
        }),
    )
    expect(await Promise.all(exits)).toEqual([0, 0])
    expect(await verifyAudit(path)).toEqual({ ok: true, lines: 50, firstSeq: 1, rotatedAway: 0 })
  })

  it.each<[string, (rows: string[]) => string[]]>([
    ['changed', (rows) => rows.map((row, at) => (at === 1 ? row.replace('"allow"', '"deny"') : row))],
    ['taken out', (rows) => rows.filter((_, at) => at !== 1)],
    ['moved', ([a = '', b = '', ...rest]) => [b, a, ...rest]],
    ['put in', (rows) => [...rows.slice(0, 2), '{"seq":3}', ...rows.slice(2)]],
  ])('shows a line that was %s', async (_, tamper) => {
    await write(4)
    await writeFile(path, `${tamper(await lines()).join('\n')}\n`)
    expect(await verifyAudit(path)).toMatchObject({ ok: false })
  })

  it('shows an end that was cut off, also after more was written', async () => {
    await write(4)
    await writeFile(path, `${(await lines()).slice(0, 2).join('\n')}\n`)
    expect(await verifyAudit(path)).toMatchObject({ ok: false })
    await write(1)
    expect(await verifyAudit(path)).toMatchObject({
      ok: false,
      problem: 'follows lines that were removed',
    })
  })

  it('shows a file that was deleted', async () => {
    await write(2)
    await unlink(path)
    expect(await verifyAudit(path)).toMatchObject({ ok: false })
  })

  it('goes on after a writer that died in the middle of a line', async () => {
    await write(2)
    await appendFile(path, '{"seq":3,"time":"20')
    await write(1)
    expect(await verifyAudit(path)).toEqual({ ok: true, lines: 3, firstSeq: 1, rotatedAway: 0 })
  })

  it('goes on after a writer that died between two lines of a block', async () => {
    await write(2)
    await appendFile(path, '{"seq":3,"time":"x","server":"a"}\n{"seq":4,"time":"x"}\n')
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 4 })
    await write(3)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 7 })
    await writeFile(path, (await readFile(path, 'utf8')).replace('"server":"a"', '"server":"b"'))
    expect(await verifyAudit(path)).toMatchObject({ ok: false, line: 3 })
  })

  it('continues a log of an older version, in which every line is a block', async () => {
    let prev = '0'.repeat(64)
    const old = [1, 2, 3].map((seq) => {
      const body = JSON.stringify({ seq, time: 'x', server: 'git', tool: 'log', prev })
      prev = createHash('sha256').update(body).digest('hex')
      return `${body.slice(0, -1)},"hash":"${prev}"}\n`
    })
    await mkdir(join(folder, 'state'))
    await writeFile(path, old.join(''))
    await writeFile(`${path}.head`, JSON.stringify({ seq: 3, hash: prev }))
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 3 })
    await write(5)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 8, firstSeq: 1 })
    await writeFile(path, (await readFile(path, 'utf8')).replace('"seq":2,"time":"x"', '"seq":2,"time":"y"'))
    expect(await verifyAudit(path)).toMatchObject({ ok: false, line: 2 })
  })

  it('records arguments as they were, whatever the program does with them later', async () => {
    const args = { page: 1 }
    const audit = log()
    audit.record(event({ arguments: args }))
    args.page = 2
    await audit.flush()
    expect((await readAudit(path, 1))[0]).toMatchObject({ arguments: { page: 1 } })
  })

  it('loses no line of a caller that waits when it is told to', async () => {
    const audit = log()
    let waited = 0
    const count = AUDIT_LIMITS.queued + 2 * AUDIT_LIMITS.gathered
    for (let index = 0; index < count; index++) {
      const full = audit.record(event({ arguments: { index } }))
      if (full) waited++
      await full
    }
    await audit.flush()
    expect(waited).toBeGreaterThan(0)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: count })
    expect((await readAudit(path, 1))[0]).toMatchObject({ arguments: { index: count - 1 } })
  })

  it('keeps texts of every script', async () => {
    const audit = log()
    const texts = ['ä', '日本語', '🙂', '\u2028', '"\\\n', 'x'.repeat(150)]
    for (const text of texts) audit.record(event({ server: text, arguments: { text } }))
    await audit.flush()
    expect((await readAudit(path, 10)).map((line) => line.server)).toEqual(texts)
    expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: texts.length })
  })

  it('is bounded by rotation, and what is kept can still be followed', async () => {
    const small = { fileBytes: 1500, files: 3 }
    for (let round = 0; round < 12; round++) await write(3, small)
    const kept = (await readdir(join(folder, 'state'))).filter((name) => /\.jsonl(\.\d+)?$/.test(name))
    expect(kept.length).toBeLessThanOrEqual(3)
    const check = await verifyAudit(path)
    expect(check).toMatchObject({ ok: true })
    expect(check.ok && check.firstSeq).toBeGreaterThan(1)
    expect(check.ok && check.rotatedAway).toBe(check.ok && check.firstSeq - 1)
    expect((await readAudit(path, 2)).map(({ seq }) => seq)).toEqual([35, 36])
  })

  it('does not fail a call when it cannot be written', async () => {
    await writeFile(join(folder, 'file'), '')
    const problems: unknown[] = []
    const audit = new AuditLog({
      path: join(folder, 'file', 'audit.jsonl'),
      host: systemHost(),
      onProblem: (error) => problems.push(error),
    })
    audit.record(event())
    await audit.flush()
    expect(problems).toHaveLength(1)
  })

  it('keeps lines short, whatever the arguments', async () => {
    const audit = log()
    audit.record(
      event({
        arguments: { text: 'x'.repeat(1e6), list: Array.from({ length: 1e5 }, () => 'y'.repeat(300)) },
      }),
    )
    await audit.flush()
    expect((await readFile(path)).length).toBeLessThan(20_000)
    expect(await verifyAudit(path)).toMatchObject({ ok: true })
  })
})

describe('a full queue', () => {
  it('of a caller that does not wait drops what is too much, and the log says how many', async () => {
    const audit = log({ fileBytes: 1e9 })
    for (let index = 0; index < 2 * AUDIT_LIMITS.queued + 3; index++) audit.record(event())
    await audit.flush()
    const last = JSON.parse((await lines()).at(-1) ?? '')
    expect(last).toMatchObject({ kind: 'dropped', count: 3 })
    expect(await verifyAudit(path)).toMatchObject({ ok: true })
    audit.record(event())
    await audit.flush()
    expect((await lines()).filter((line) => line.includes('"dropped"'))).toHaveLength(1)
  })

  it('is written at once when it is long enough, without a timer', async () => {
    const never = systemHost({ backgroundTimer: () => () => undefined })
    const audit = log({ host: never })
    for (let index = 0; index < AUDIT_LIMITS.gathered; index++) audit.record(event())
    await expect.poll(async () => (await lines().catch(() => [])).length).toBe(AUDIT_LIMITS.gathered)
    await audit.flush()
  })

  it('has a reason for each line, however many reasons there are', async () => {
    const audit = log()
    const count = 205
    for (let index = 0; index < count; index++)
      audit.record(
        event({ decision: { outcome: 'deny', reason: { kind: 'rule', text: `reason ${index}` } } }),
      )
    await audit.flush()
    expect((await lines()).map((line) => JSON.parse(line).reason)).toEqual(
      Array.from({ length: count }, (_, index) => `reason ${index}`),
    )
  })
})

describe('a damaged log', () => {
  it('that is only half a line starts anew with the first line', async () => {
    await write(1)
    const [line = ''] = await lines()
    await writeFile(path, line.slice(0, 40))
    await unlink(`${path}.head`)
    await write(1)
    expect(await lines()).toHaveLength(1)
    expect(await verifyAudit(path)).toEqual({ ok: true, lines: 1, firstSeq: 1, rotatedAway: 0 })
  })

  it.each(['7', 'null', '{"seq":"1","hash":"x"}', '{"seq":1}', '{'])(
    'with the end mark %s is checked without it',
    async (head) => {
      await write(2)
      await writeFile(`${path}.head`, head)
      expect(await verifyAudit(path)).toMatchObject({ ok: true, lines: 2 })
    },
  )

  it('whose last line was replaced by another valid one is noticed by its end mark', async () => {
    await write(1)
    const mark = await readFile(`${path}.head`, 'utf8')
    await rm(path)
    await rm(`${path}.head`)
    await write(1, { host: systemHost({ now: () => 0 }) })
    await writeFile(`${path}.head`, mark)
    expect(await verifyAudit(path)).toMatchObject({
      ok: false,
      problem: /not the line that was written last/,
    })
  })

  it('whose first line claims a line before it does not start the chain', async () => {
    await write(1)
    const { hash: _, ...fields } = JSON.parse((await lines())[0] ?? '')
    const body = JSON.stringify({ ...fields, prev: 'f'.repeat(64) })
    const hash = createHash('sha256').update(body).digest('hex')
    await writeFile(path, `${body.slice(0, -1)},"hash":"${hash}"}\n`)
    await unlink(`${path}.head`)
    expect(await verifyAudit(path)).toMatchObject({ ok: false, problem: /does not start the chain/ })
  })

  it.each(['', 'x', '{}', '{"seq":"2"}', 'null'])('with the line %j is refused', async (line) => {
    await write(1)
    await appendFile(path, `${line}\n`)
    expect(await verifyAudit(path)).toMatchObject({ ok: false, line: 2, problem: 'is not an audit line' })
  })
})

describe('large arguments', () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))

  it.each([
    [40, 40, undefined],
    [41, 41, '1 more'],
    [60, 41, '20 more'],
  ])('with %i fields show %i', (count, shown, rest) => {
    const copy = redact(many(count)) as Record<string, unknown>
    expect(Object.keys(copy)).toHaveLength(shown)
    expect(copy['…']).toBe(rest)
    const list = redact(Array.from({ length: count }, () => 1)) as unknown[]
    expect(list).toHaveLength(shown)
    expect(list[40]).toBe(rest === undefined ? undefined : `[${rest}]`)
  })

  it('are cut at the sixth level', () => {
    expect(redact({ a: { a: { a: { a: { a: { a: 1 } } } } } })).toEqual({
      a: { a: { a: { a: { a: { a: 1 } } } } },
    })
    expect(redact({ a: { a: { a: { a: { a: { a: {} } } } } } })).toEqual({
      a: { a: { a: { a: { a: { a: '[deeper]' } } } } },
    })
  })

  it.each([
    [200, false],
    [201, true],
  ])('of %i characters are cut: %s', (length, cut) => {
    expect(redactText('x'.repeat(length)).includes('…')).toBe(cut)
  })
})

describe('secrets', () => {
  it('are hidden by the name of their field', () => {
    expect(
      redact({
        user: 'ann',
        password: 'hunter2',
        nested: { apiKey: 'k', 'X-Api-Key': 'k', authorization: 'x' },
        list: [{ token: 't' }],
        empty: { secret: '' },
      }),
    ).toEqual({
      user: 'ann',
      password: '[redacted]',
      nested: { apiKey: '[redacted]', 'X-Api-Key': '[redacted]', authorization: '[redacted]' },
      list: [{ token: '[redacted]' }],
      empty: { secret: '' },
    })
  })

  it.each([
    `ghp_${'a1B2'.repeat(9)}`,
    `sk-ant-api03-${'x'.repeat(40)}`,
    'Authorization: Bearer abcdefghijklmnop',
    'postgres://ann:hunter2@db/x',
    'curl -d password=hunter2',
    `eyJhbGciOiJIUzI1NiJ9.${'e'.repeat(20)}.${'s'.repeat(20)}`,
    'xoxb-1234567890-abc',
  ])('are hidden by their shape: %s', (text) => {
    expect(redactText(text)).toContain('[redacted]')
    expect(redactText(text)).not.toMatch(/hunter2|a1B2|abcdefghij|ssss|xxxx|1234567890/)
  })

  it('do not take ordinary words with them', () => {
    expect(
      redact({ path: 'src/tokenizer.ts', query: 'how does the password form work', author: 'me' }),
    ).toEqual({
      path: 'src/tokenizer.ts',
      query: 'how does the password form work',
      author: 'me',
    })
  })

  it('are not found by way of the prototype', () => {
    expect(JSON.stringify(redact(JSON.parse('{"__proto__": {"token": "t"}}')))).not.toContain('"t"')
  })
})

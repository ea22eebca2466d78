// What `plugboard call` prints where: a pipe and --json get everything the server sent; only a terminal gets shortened text and notes.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place, RESIDENT_ENV } from '../support/cli.ts'
import { odd } from '../support/servers.ts'
import { noTerminal, openTerminal, openTerminalWith } from '../support/terminal.ts'

const PNG = readFileSync(new URL('../support/dot.png', import.meta.url)).toString('base64')
const WAV = Buffer.from('RIFF\x24\0\0\0WAVEfmt ').toString('base64')
const CHARS = 5_000_000

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { odd: odd() } })
})
afterAll(() => place.remove())

const answer = (result: unknown, ...more: string[]) =>
  place.runPiped(JSON.stringify({ result }), 'call', 'odd.answer', '--args', '-', ...more)
const long = `${'x'.repeat(99)}\n`.repeat(CHARS / 100)

describe('five megabytes of text', { timeout: 60_000 }, () => {
  it('reach a pipe unchanged, with nothing on stderr', async () => {
    const ran = await place.run('call', 'odd.long', `chars=${CHARS}`)
    expect(ran.code).toBe(0)
    expect(ran.stdout.length).toBe(long.length)
    expect(ran.stdout === long).toBe(true)
    expect(ran.stderr).toBe('')
  })

  it('are whole with --json, and no file is made of them', async () => {
    const { json, code } = await place.run('call', 'odd.long', `chars=${CHARS}`, '--json')
    expect(code).toBe(0)
    expect(json.content).toHaveLength(1)
    expect(json.content[0].text === long).toBe(true)
    expect(json).not.toHaveProperty('savedFiles')
    expect(json).not.toHaveProperty('truncated')
  })

  it.each([[['--json']], [[]]])('are flushed to a slow reader before the command ends (%j)', async (more) => {
    const child = spawn(process.execPath, [COMMAND, 'call', 'odd.long', `chars=${CHARS}`, ...more], {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home, ...RESIDENT_ENV },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = once(child, 'exit')
    const hash = createHash('sha256')
    let chars = 0
    let chunks = 0
    for await (const chunk of child.stdout) {
      hash.update(chunk)
      chars += chunk.length
      if (chunks++ < 20) await sleep(50)
    }
    expect((await exited)[0]).toBe(0)
    if (more.length === 0) {
      expect(chars).toBe(long.length)
      expect(hash.digest('hex')).toBe(createHash('sha256').update(long).digest('hex'))
    } else expect(chars).toBeGreaterThan(long.length)
  })

  it('end the command quietly when the reader closes the pipe', async () => {
    const child = spawn(process.execPath, [COMMAND, 'call', 'odd.long', `chars=${CHARS}`], {
      cwd: place.project,
      env: { PATH: process.env['PATH'] ?? '', HOME: place.home, ...RESIDENT_ENV },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exited = once(child, 'exit')
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    child.stdout.once('data', () => child.stdout.destroy())
    expect((await exited)[0]).toBe(0)
    expect(said).toBe('')
  })
})

const missing = noTerminal()

it.skipIf(missing)(
  'a user at a terminal gets shortened text, and is told where the rest is',
  { timeout: 60_000 },
  async () => {
    const terminal = await openTerminal(place, 'call', 'odd.long', 'chars=300000')
    try {
      const shown = await terminal.see('exit 0', 40_000)
      expect(shown).toMatch(/\[cut: \d+ of 300000 characters are shown; all of it is in /)
    } finally {
      await terminal.close()
    }
  },
)

describe('content of every kind', () => {
  const content = [
    { type: 'text', text: 'first\u0007 line\r\nsecond', annotations: { audience: ['user'] } },
    { type: 'image', data: PNG, mimeType: 'image/png' },
    { type: 'audio', data: WAV, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'odd:a', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'odd:b', mimeType: 'application/zip', blob: 'UEsDBAA=' } },
    { type: 'resource_link', uri: 'odd:c', name: 'c', size: 9 },
    { type: 'hologram', rays: [1, 2] },
  ]
  const structuredContent = { ok: true, rows: [{ id: 901, name: 'Ann' }] }

  it('is in --json as the server sent it, nothing added and nothing cut', async () => {
    const { json, code } = await answer({ content, structuredContent, _meta: { trace: 'x' } }, '--json')
    expect(code).toBe(0)
    expect(json.content).toEqual(content)
    expect(json.structuredContent).toEqual(structuredContent)
    expect(json._meta).toEqual({ trace: 'x' })
    expect(json.savedFiles.map(({ mimeType }: { mimeType: string }) => mimeType)).toEqual([
      'image/png',
      'audio/wav',
      'application/zip',
    ])
    expect(readFileSync(json.savedFiles[0].path).toString('base64')).toBe(PNG)
  })

  it('reaches a pipe as its texts; saved and missing parts are named on stderr', async () => {
    const ran = await answer({ content, structuredContent })
    expect(ran.stdout).toBe(
      'first\u0007 line\r\nsecond\ninside\n[link: c · odd:c]\n{\n  "type": "hologram",\n  "rays": [\n    1,\n    2\n  ]\n}\n',
    )
    expect(ran.stderr).toMatch(/Saved to .*\.png \(image\/png, \d+ bytes\)/)
    expect(ran.stderr).toMatch(/Saved to .*\.wav/)
    expect(ran.stderr).toContain('--json prints its structured result too')
  })

  it('is an error with its text on stdout and the exit code 1', async () => {
    const ran = await answer({ content: [{ type: 'text', text: 'no such row' }], isError: true })
    expect(ran).toMatchObject({ code: 1, stdout: 'no such row\n' })
    expect(ran.stderr).toContain('odd.answer answered with an error')
  })

  it('is structured content where there is no text', async () => {
    expect((await answer({ content: [], structuredContent })).stdout).toBe(
      `${JSON.stringify(structuredContent, null, 2)}\n`,
    )
  })

  it('may be a thousand parts and more', async () => {
    const parts = Array.from({ length: 1500 }, (_, at) => ({ type: 'text', text: `part ${at}` }))
    expect((await answer({ content: parts })).stdout).toBe(parts.map(({ text }) => `${text}\n`).join(''))
    expect((await answer({ content: parts }, '--json')).json.content).toEqual(parts)
  })
})

describe('a result without content', () => {
  it.each([[{ answer: 42 }], [{ toolResult: { rows: [1] } }], [{ content: [], answer: 42 }]])(
    'is printed as its JSON: %j',
    async (result) => {
      const { content: _, ...rest } = result as Record<string, unknown>
      const piped = await answer(result)
      expect(piped).toMatchObject({ code: 0, stderr: '' })
      expect(piped.json).toEqual(rest)
      expect((await answer(result, '--json')).json).toMatchObject({ content: [], otherFields: rest })
    },
  )

  it('prints nothing on stdout when it is empty', async () => {
    expect(await answer({ content: [] })).toMatchObject({ code: 0, stdout: '', stderr: '(no output)\n' })
  })

  it('is printed whole however deep it is', async () => {
    const levels = 20_000
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`
    const server = [
      `const reply = (id, result) => process.stdout.write('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',"result":' + result + '}\\n')`,
      `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {`,
      `  const { id, method } = JSON.parse(line)`,
      `  if (method === 'initialize') reply(id, '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"d","version":"0"}}')`,
      `  else if (method === 'tools/list') reply(id, '{"tools":[{"name":"deep","inputSchema":{"type":"object"}}]}')`,
      `  else if (id !== undefined) reply(id, '{"content":[],"structuredContent":{"a":' + '['.repeat(${levels}) + ']'.repeat(${levels}) + '}}')`,
      `})`,
    ].join('\n')
    const entry = JSON.stringify({ mcpServers: { d: { command: process.execPath, args: ['-e', server] } } })
    for (const more of [[], ['--json']]) {
      const ran = await place.run('call', 'd.deep', '--mcp-config', entry, ...more)
      expect(ran.stderr).not.toContain('internal error')
      expect(ran.code).toBe(0)
      expect(ran.stdout.replaceAll(/\s/g, '')).toContain(`"a":${deep}`)
    }
  })
})

describe.skipIf(noTerminal())('a picture at a terminal that can show it', { timeout: 60_000 }, () => {
  const result = JSON.stringify({
    result: { content: [{ type: 'image', mimeType: 'image/png', data: PNG }] },
  })
  it.each([
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal gets
    ['kitty', /\x1b_Ga=T,f=100,q=2,C=1,c=1,r=1,m=0;([A-Za-z0-9+/=]+)\x1b\\/],
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal gets
    ['iterm', /\x1b\]1337;File=inline=1;width=1;height=1;preserveAspectRatio=1:([A-Za-z0-9+/=]+)\x1b\\/],
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal gets
    ['sixel', /\x1bP0;1;0q"1;1;\d+;\d+#[ -~]+\x1b\\/],
  ])('is drawn by the protocol of %s, as bytes that are ours', async (protocol, expected) => {
    const env = { PLUGBOARD_IMAGES: protocol }
    const terminal = await openTerminalWith(place, { env }, ['call', 'odd.answer', '--args', result])
    try {
      await terminal.see('exit 0')
      const [, png] = expected.exec(terminal.raw()) ?? ['', undefined]
      expect(terminal.raw()).toMatch(expected)
      if (png) {
        expect(Buffer.from(png, 'base64').toString('latin1', 1, 4)).toBe('PNG')
        expect(Buffer.from(png, 'base64').toString('latin1')).not.toContain('TRAILER')
      }
    } finally {
      await terminal.close()
    }
  })

  it('is not, inside tmux: the text names the file', async () => {
    const terminal = await openTerminalWith(place, { env: { TMUX: 'x' } }, [
      'call',
      'odd.answer',
      '--args',
      result,
    ])
    try {
      expect(await terminal.see('exit 0')).toContain('[image saved to')
      expect(terminal.raw()).not.toMatch(/_G|1337;/)
    } finally {
      await terminal.close()
    }
  })
})

it('a call whose kept connection is lost after the server ran it is not sent again, unless that is safe', async () => {
  const log = join(place.home, 'runs.log')
  const script = fileURLToPath(new URL('../support/resetting-server.mjs', import.meta.url))
  const server = spawn(process.execPath, [script], {
    env: { LOG: log },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [url] = await once(server.stdout, 'data')
    place.write('.mcp.json', { mcpServers: { web: { type: 'http', url: String(url).trim() } } })
    // What a tool says of itself decides: once, or once more where that does no harm.
    const expected = {
      write_reset: { code: 4, said: 'OUTCOME_UNKNOWN', runs: 1 },
      write_end: { code: 4, said: 'OUTCOME_UNKNOWN', runs: 1 },
      write_again: { code: 0, said: 'DONE 2', runs: 2 },
      read_again: { code: 0, said: 'DONE 2', runs: 2 },
      read_reset: { code: 4, said: 'could not be reached', runs: 2 },
    }
    const ran = await Promise.all(
      Object.keys(expected).map(async (tool) => {
        const { code, stdout, stderr } = await place.run('call', `web.${tool}`, '--approve-project')
        const said = /OUTCOME_UNKNOWN|DONE \d|could not be reached/.exec(stdout + stderr)?.[0]
        return [tool, { code, said }] as const
      }),
    )
    const lines = readFileSync(log, 'utf8').trim().split('\n')
    const runsOf = (tool: string) => lines.filter((line) => line.startsWith(`${tool} `)).length
    expect(Object.fromEntries(ran.map(([tool, found]) => [tool, { ...found, runs: runsOf(tool) }]))).toEqual(
      expected,
    )
    expect(lines).toContain('write_reset kept')
    expect(lines).toContain('write_end kept')
  } finally {
    server.kill()
  }
}, 60_000)

// Completion in real shells: servers, tools, arguments and their values, from what the last command saw.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'

let place: Place
let env: Record<string, string>
beforeAll(async () => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { everything } })
  const bin = join(place.home, 'bin')
  mkdirSync(bin)
  symlinkSync(COMMAND, join(bin, 'plugboard'))
  env = {
    HOME: place.home,
    PATH: `${bin}:${process.env['PATH']}`,
    LANG: 'C.UTF-8',
    PLUGBOARD_MANAGED_DIR: join(place.home, 'managed'),
  }
  // The tools are known once a command has listed them.
  expect((await place.run('tools', 'everything')).code).toBe(0)
}, 60_000)
afterAll(() => place.remove())

const next = async (...words: string[]) =>
  (await place.run('completion', 'next', '--', ...words)).stdout.trim().split('\n').filter(Boolean)

const has = (shell: string) => spawnSync(shell, ['-c', 'exit 0']).status === 0

it('offers servers and tools, then arguments and the values of an enumeration', async () => {
  expect(await next('call')).toEqual(expect.arrayContaining(['codebase', 'everything', 'everything.get-sum']))
  expect(await next('call', 'everything')).toContain('get-sum')
  expect(await next('call', 'everything.get-sum')).toEqual(['a=', 'b='])
  expect(await next('call', 'everything', 'get-sum', 'a=1')).toEqual(['b='])
  expect(await next('call', 'mcp__everything__get-annotated-message')).toContain('messageType=error')
  expect(await next('get')).toEqual(expect.arrayContaining(['codebase', 'everything']))
  // The second word is a URI or a name of the server, not a server again.
  expect(await next('read', 'everything')).toContain('demo://resource/static/document/features.md')
  expect(await next('read', 'everything', 'demo://x')).toEqual([])
  expect(await next('prompt', 'everything')).toContain('args-prompt')
  expect(await next('prompt', 'everything', 'args-prompt')).toEqual(['city=', 'state='])
  expect(await next('prompt', 'everything', 'args-prompt', 'city=Riga')).toEqual(['state='])
  expect(await next('import')).toContain('cursor')
}, 60_000)

it('forgets the tools of an entry that changed', async () => {
  place.write('~/.plugboard/settings.json', {
    mcpServers: { everything: { ...everything, env: { X: '1' } } },
  })
  expect(await next('call')).not.toContain('everything.get-sum')
  place.write('~/.plugboard/settings.json', { mcpServers: { everything } })
}, 30_000)

/** What bash would put on the line, for the words as its line editor splits them. */
function bash(...words: string[]): readonly string[] {
  const script = [
    'source <(plugboard completion bash)',
    'compopt() { :; }',
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`,
    '_plugboard; printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n')
  const options = { env, cwd: place.project, encoding: 'utf8' as const }
  return execFileSync('bash', ['--norc', '-c', script], options).trim().split('\n').filter(Boolean)
}

describe('bash', () => {
  it('completes verbs, tools, arguments and values', () => {
    expect(bash('plugboard', 'too')).toEqual(['tools'])
    expect(bash('plugboard', 'call', 'everything.get-s')).toEqual(
      expect.arrayContaining(['everything.get-sum', 'everything.get-structured-content']),
    )
    expect(bash('plugboard', 'call', 'everything.get-sum', '')).toEqual(['a=', 'b='])
    expect(bash('plugboard', 'call', 'everything.get-sum', 'a', '=', '1', '')).toEqual(['b='])
    expect(bash('plugboard', 'call', 'everything.get-annotated-message', 'messageType', '=', 'e')).toEqual([
      'error',
    ])
    expect(bash('plugboard', 'call', 'x', '--ti')).toEqual(['--timeout'])
    expect(bash('plugboard', 'prompt', 'everything', 'args-prompt', 'city', '=', 'Riga', '')).toEqual([
      'state=',
    ])
    // bash splits a URI at its colon, and replaces only what follows it.
    const found = bash('plugboard', 'read', 'everything', 'demo', ':', '//resource/static/document/fe')
    expect(found).toEqual(['//resource/static/document/features.md'])
  }, 60_000)
})

describe.skipIf(!has('zsh'))('zsh (skipped where it is not installed)', () => {
  /** A shell with a terminal of its own, in which Tab is pressed. */
  const zsh = (line: string): string => {
    const script = [
      'zmodload zsh/zpty',
      'zpty z zsh -f -i',
      `zpty -w z 'PS1=; autoload -Uz compinit; compinit -u -d ${place.home}/dump; source <(plugboard completion zsh); bindkey "^I" complete-word; zstyle ":completion:*" list-prompt ""; LISTMAX=1000; print REA""DY'`,
      'out=; while zpty -r z chunk; do out+=$chunk; [[ $out == *READY* ]] && break; done',
      `zpty -w -n z '${line}'$'\\t'`,
      'sleep 4; out=; while zpty -r -t z chunk; do out+=$chunk; done; print -r -- "$out"; zpty -d z',
    ].join('\n')
    return execFileSync('zsh', ['-f', '-c', script], {
      env: { ...env, TERM: 'xterm' },
      cwd: place.project,
      encoding: 'utf8',
      timeout: 50_000,
    })
  }

  it('completes a server without an error', () => {
    const shown = zsh('plugboard get every')
    expect(shown).toContain('everything')
    expect(shown).not.toContain('bad substitution')
  }, 60_000)

  it('completes a tool and its arguments', () => {
    expect(zsh('plugboard call everything.get-su')).toContain('everything.get-sum')
    expect(zsh('plugboard call everything.get-sum ')).toMatch(/a=[\s\S]*b=/)
  }, 90_000)
})

describe.skipIf(!has('fish'))('fish (skipped where it is not installed)', () => {
  const fish = (line: string) =>
    execFileSync('fish', ['--no-config', '-c', `plugboard completion fish | source; complete -C '${line}'`], {
      env,
      cwd: place.project,
      encoding: 'utf8',
    })
      .split('\n')
      .map((found) => found.split('\t')[0] ?? '')

  it('completes verbs, tools and arguments', () => {
    expect(fish('plugboard too')).toContain('tools')
    expect(fish('plugboard call everything.get-su')).toContain('everything.get-sum')
    expect(fish('plugboard call everything.get-sum ')).toEqual(expect.arrayContaining(['a=', 'b=']))
  }, 60_000)
})

/** What is left open at the end of a PowerShell script, and the first bracket that closes nothing. */
function unbalanced(script: string): readonly string[] {
  const open: string[] = []
  const pairs: Readonly<Record<string, string>> = { ')': '(', '}': '{', ']': '[' }
  const tokens = script.matchAll(/#[^\n]*|'(?:[^']|'')*'|"(?:[^"`]|`.)*"|['"(){}[\]]/g)
  for (const [token] of tokens) {
    const opens = pairs[token]
    if (/^[([{'"]$/.test(token)) open.push(token)
    else if (opens !== undefined && open.pop() !== opens) return [`${token} closes nothing`]
  }
  return open
}

describe('PowerShell', () => {
  const script = () => execFileSync('plugboard', ['completion', 'powershell'], { env, encoding: 'utf8' })

  it('is a script whose strings and brackets are closed, with every verb', () => {
    expect(unbalanced("if ($a) { 'it''s' }")).toEqual([])
    expect(unbalanced("if ($a) { 'it's' }")).not.toEqual([])
    expect(unbalanced(script())).toEqual([])
    expect(script()).toMatch(/'call' = '[^']*--timeout/)
  }, 30_000)

  it.skipIf(!has('pwsh'))(
    'completes in the shell itself (skipped where pwsh is not installed)',
    () => {
      const line = 'plugboard call everything.get-su'
      const program = `plugboard completion powershell | Out-String | Invoke-Expression; (TabExpansion2 '${line}' ${line.length}).CompletionMatches.CompletionText`
      const options = { env, cwd: place.project, encoding: 'utf8' as const, timeout: 50_000 }
      expect(execFileSync('pwsh', ['-NoProfile', '-Command', program], options)).toContain(
        'everything.get-sum',
      )
    },
    60_000,
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NameRegistry } from '../tools/names.ts'
import { concernsServer, coversServer, coversTool, exactRule, type ToolNames } from './rule-matcher.ts'
import { matchesGlob, parseRule, RULE_CHARS, type RuleUse, ruleSpelling } from './rule-syntax.ts'

const covers = (text: string, names: ToolNames, use: RuleUse) => {
  const rule = parseRule(text, use)
  return rule.ok && coversTool(rule, names, use)
}
const named = (server: string, tool: string): ToolNames => ({
  server,
  tool,
  name: `mcp__${ruleSpelling(server)}__${ruleSpelling(tool)}`,
})

describe('a rule', () => {
  it.each([
    ['files', ['files']],
    ['files.write', ['files|write']],
    ['files.get_*', ['files|get_*']],
    ['files.*', ['files|*']],
    ['files.de.lete', ['files|de.lete', 'files.de|lete', 'files.de.lete']],
    ['mcp__files', ['files']],
    ['mcp__files__write', ['files|write', 'files__write']],
    ['mcp__files__*', ['files|*']],
    ['mcp__a__b__c', ['a|b__c', 'a__b|c', 'a__b__c']],
    ['mcp__a___b', ['a|_b', 'a_|b', 'a___b']],
    ['mcp__*__drop', ['*|drop']],
    ['mcp__git*', ['git*']],
    ['mcp__s__a/b:c', ['s|a/b:c']],
  ])('%s is read as %j', (text, readings) => {
    const read = parseRule(text, 'restrict')
    expect(
      read.ok && read.readings.map(({ server, tool }) => [server, tool].filter(Boolean).join('|')),
    ).toEqual(
      text === 'files.write' || text === 'files.get_*' || text === 'files.*' ? [...readings, text] : readings,
    )
  })

  it.each([
    ['mcp__a__b__c', ['a|b__c']],
    ['mcp__a', ['a']],
    ['mcp__a___b', ['a|_b']],
    ['a.b', ['a|b', 'a.b']],
    ['a.b*', ['a|b*']],
  ])('%s opens %j alone', (text, granted) => {
    const read = parseRule(text, 'allow')
    expect(
      read.ok && read.granted.map(({ server, tool }) => [server, tool].filter(Boolean).join('|')),
    ).toEqual(granted)
  })

  it.each([
    ['', 'is empty', undefined, undefined],
    ['   ', 'is empty', undefined, undefined],
    ['files/write_file', 'is not a rule', 'files', 'files.write_file'],
    ['files:write_file', 'is not a rule', 'files', 'files.write_file'],
    ['files(write_file)', 'is not a rule', 'files', 'files.write_file'],
    ['files write_file', 'is not a rule', 'files', 'files.write_file'],
    ['mcp__files:write_file', 'is not a rule', 'files', 'mcp__files__write_file'],
    ['MCP__files__write', 'is not a rule', 'files', 'mcp__files__write'],
    [' files.write ', 'is not a rule', 'files', 'files.write'],
    ['mcp__files__', 'names no tool', 'files', 'mcp__files'],
    ['Bash(rm -rf *)', 'is not a rule', 'Bash', undefined],
    ['WebFetch(domain:example.com)', 'is not a rule', 'WebFetch', undefined],
    ['mcp__files__write(path: /etc)', 'is not a rule', 'files', undefined],
    ['files.', 'is not a rule', 'files', undefined],
    ['.files', 'is not a rule', 'files', 'files'],
    ['mcp__', 'is not a rule', 'mcp', undefined],
    ['(', 'is not a rule', undefined, undefined],
    [
      'x'.repeat(RULE_CHARS + 1),
      `is longer than ${RULE_CHARS} characters`,
      'x'.repeat(RULE_CHARS + 1),
      undefined,
    ],
  ])('%j is none: it %s', (text, problem, server, meant) => {
    const read = parseRule(text, 'restrict')
    expect(read).toMatchObject({ ok: false, problem, ...(server !== undefined && { server }) })
    if (read.ok) return
    expect(read.server).toBe(server)
    if (meant !== undefined && text !== '.files') expect(read.hint).toBe(`Did you mean "${meant}"?`)
    else expect(read.hint).toContain('server.tool')
  })

  it('may be as long as the limit', () => {
    expect(parseRule('x'.repeat(RULE_CHARS), 'restrict').ok).toBe(true)
  })

  it.each(['*', '*.get_*', 'mcp__*', 'mcp__*__x', 'mcp__git*__x', 'git*'])(
    '%s closes and shows, and does not allow',
    (text) => {
      expect(parseRule(text, 'restrict').ok).toBe(true)
      expect(parseRule(text, 'expose').ok).toBe(true)
      expect(parseRule(text, 'allow')).toMatchObject({
        ok: false,
        problem: 'has a "*" in the name of the server',
      })
    },
  )
})

describe('the matcher', () => {
  it.each<[string, ToolNames, boolean, boolean]>([
    ['mcp__github__get_issue', named('github', 'get_issue'), true, true],
    // A server whose name looks like the rule: closed by it, never opened.
    ['mcp__github__get_issue', named('github__get_issue', 'wipe'), false, true],
    ['mcp__github__get_issue__x', named('github__get_issue', 'x'), false, true],
    ['github__get_issue.wipe', named('github__get_issue', 'wipe'), true, true],
    ['github__get_issue', named('github__get_issue', 'wipe'), true, true],
    ['mcp__git__*', named('git__evil', 'x'), false, false],
    // The registry gave the tool a suffix, because another tool has its name.
    ['mcp__s__de_lete', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, false, true],
    ['s.de_lete', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, false, true],
    ['s.de.lete', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, true, true],
    [
      'mcp__s__de_lete_34694ca7',
      { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' },
      true,
      true,
    ],
    ['s.de_lete_34694ca7', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, true, true],
    ['s.*_34694ca7', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, false, true],
    ['mcp__s__de_*', { server: 's', tool: 'de.lete', name: 'mcp__s__de_lete_34694ca7' }, true, true],
    ['mcp__s__de_lete', named('s', 'de.lete'), true, true],
    // A name that was too long for the registry.
    [
      `mcp__s__${'x'.repeat(80)}`,
      { server: 's', tool: 'x'.repeat(80), name: `mcp__s__${'x'.repeat(47)}_12345678` },
      true,
      true,
    ],
    [
      `mcp__s__${'x'.repeat(79)}_`,
      { server: 's', tool: `${'x'.repeat(79)}.`, name: `mcp__s__${'x'.repeat(47)}_12345678` },
      true,
      true,
    ],
    [
      `mcp__${'s'.repeat(50)}_12345678`,
      { server: 's'.repeat(90), tool: 't', name: `mcp__${'s'.repeat(50)}_12345678` },
      true,
      true,
    ],
    ['my_server.t', named('my server', 't'), true, true],
    ['s.t', named('s', 'T'), false, false],
    ['s.t', named('s2', 't'), false, false],
  ])('%s about %j: opens %s, closes %s', (text, names, opens, closes) => {
    expect(covers(text, names, 'allow')).toBe(opens)
    expect(covers(text, names, 'expose')).toBe(opens)
    expect(covers(text, names, 'restrict')).toBe(closes)
  })

  it.each<[string, string, boolean, boolean]>([
    ['s', 's', true, true],
    ['s.*', 's', true, true],
    ['s.**', 's', true, true],
    ['mcp__s', 's', true, true],
    ['mcp__s__*', 's', true, true],
    ['s.get_*', 's', false, false],
    ['s.*x', 's', false, false],
    ['mcp__a__b', 'a__b', false, true],
    ['mcp__a__b', 'a', false, false],
    ['s', 's2', false, false],
  ])('%s covers all of the server %s: opens %s, closes %s', (text, server, opens, closes) => {
    const whole = (use: RuleUse) => {
      const rule = parseRule(text, use)
      return rule.ok && coversServer(rule, server, use)
    }
    expect([whole('allow'), whole('restrict')]).toEqual([opens, closes])
  })

  it('knows which servers a rule is about at all', () => {
    const about = (text: string, server: string, use: RuleUse) => {
      const rule = parseRule(text, use)
      return rule.ok && concernsServer(rule, server, use)
    }
    expect(about('s.get_*', 's', 'expose')).toBe(true)
    expect(about('mcp__a__b__c', 'a__b', 'expose')).toBe(false)
    expect(about('mcp__a__b__c', 'a__b', 'restrict')).toBe(true)
    expect(about('s.get_*', 't', 'restrict')).toBe(false)
  })
})

// A small alphabet makes the odd cases common: adjacent borders, stars next to borders, names that collide.
const word = (letters: string, min: number, max: number) =>
  fc.array(fc.constantFrom(...letters), { minLength: min, maxLength: max }).map((parts) => parts.join(''))
const serverName = word('ab_-', 1, 5)
const toolName = word('ab_.', 1, 5)
const ruleText = fc.oneof(
  word('ab_.*', 1, 8),
  word('ab_.*', 1, 8).map((rest) => `mcp__${rest}`),
  fc.tuple(serverName, toolName).map(([server, tool]) => `mcp__${server}__${tool}`),
  fc.tuple(serverName, toolName).map(([server, tool]) => `${server}.${tool}`),
)

/** By definition and without optimisation: every border, every spelling, stars as a regular expression. */
function oracle(text: string, { server, tool, name }: ToolNames): { closes: boolean; opens: boolean } {
  const prefixed = text.startsWith('mcp__')
  const rest = prefixed ? text.slice(5) : text
  const border = prefixed ? '__' : '.'
  const spell = (part: string) => part.replace(/[^\w-]/g, '_')
  const fits = (pattern: string, texts: readonly string[]) =>
    texts.some((one) =>
      new RegExp(`^${pattern.replace(/[.*-]/g, (char) => (char === '*' ? '[^]*' : `\\${char}`))}$`).test(one),
    )
  const isServer = (part: string) =>
    /^[\w*-]+(\.[\w*-]+)*$/.test(part) && !(prefixed && part.includes('*') && part.includes('__'))
  const readings: { at: number; left: string; right?: string }[] = []
  for (let at = 1; at < rest.length; at++) {
    if (!rest.startsWith(border, at)) continue
    const [left, right] = [rest.slice(0, at), rest.slice(at + border.length)]
    if (isServer(left) && right !== '') readings.push({ at, left, right })
  }
  if (isServer(rest) && !(prefixed && rest.endsWith('__'))) readings.push({ at: rest.length, left: rest })
  const firstBorder = prefixed ? rest.indexOf('__', 1) : -1
  const openable = readings.filter(({ at }) => firstBorder < 0 || at === firstBorder)
  const readable = openable.length > 0
  const tail = name?.startsWith(`mcp__${spell(server)}__`) ? [name.slice(7 + spell(server).length)] : []
  const isAll = (right?: string) => right === undefined || right.replaceAll('*', '') === ''
  const closes =
    readable &&
    (text === name ||
      readings.some(
        ({ left, right }) =>
          fits(left, [server, spell(server)]) &&
          (isAll(right) || fits(right ?? '', [tool, spell(tool), ...tail])),
      ))
  const opens = openable.some(({ left, right = '*' }) => {
    if (left.includes('*') || !fits(left, [server, spell(server)])) return false
    if (right.includes('*')) return fits(right, [tool, spell(tool)])
    return [tool, ...tail].includes(right)
  })
  return { closes, opens }
}

describe('the matcher, for any rule and any tool', () => {
  it('agrees with a search through every reading', () => {
    fc.assert(
      fc.property(ruleText, serverName, toolName, fc.boolean(), (text, server, tool, suffixed) => {
        const plain = named(server, tool)
        const names = suffixed ? { ...plain, name: `${plain.name}_1234abcd` } : plain
        const found = { closes: covers(text, names, 'restrict'), opens: covers(text, names, 'allow') }
        expect(found).toEqual(oracle(text, names))
      }),
      { numRuns: 20_000 },
    )
  })

  it('closes whatever it opens', () => {
    fc.assert(
      fc.property(ruleText, serverName, toolName, (text, server, tool) => {
        const names = named(server, tool)
        if (covers(text, names, 'allow')) expect(covers(text, names, 'restrict')).toBe(true)
      }),
      { numRuns: 5000 },
    )
  })

  it('opens tools of one server at most, when the rule has the prefix', () => {
    fc.assert(
      fc.property(ruleText, serverName, serverName, toolName, toolName, (text, one, other, tool, another) => {
        fc.pre(text.startsWith('mcp__') && one !== other)
        const both = covers(text, named(one, tool), 'allow') && covers(text, named(other, another), 'allow')
        expect(both).toBe(false)
      }),
      { numRuns: 20_000 },
    )
  })

  it('has an exact rule for every tool, which opens that tool and no other', () => {
    const longServer = fc.constantFrom('s'.repeat(90), `${'s'.repeat(60)}_`)
    const pair = fc.record({
      server: fc.oneof({ weight: 5, arbitrary: serverName }, { weight: 1, arbitrary: longServer }),
      tool: fc.oneof(toolName, word('ab', 70, 72)),
    })
    fc.assert(
      fc.property(
        fc.uniqueArray(pair, {
          selector: ({ server, tool }) => JSON.stringify([server, tool]),
          maxLength: 8,
        }),
        (pairs) => {
          const names = new NameRegistry()
            .update(pairs)
            .map((name, at) => ({ ...pairs[at], name }) as ToolNames)
          for (const one of names)
            for (const other of names)
              expect([exactRule(one), other, covers(exactRule(one), other, 'allow')]).toEqual([
                exactRule(one),
                other,
                one === other,
              ])
        },
      ),
      { numRuns: 2000 },
    )
  })

  it('takes stars as a regular expression would', () => {
    fc.assert(
      fc.property(word('ab*', 0, 6), word('ab', 0, 6), (pattern, text) => {
        expect(matchesGlob(pattern, text)).toBe(new RegExp(`^${pattern.replaceAll('*', '[^]*')}$`).test(text))
      }),
      { numRuns: 5000 },
    )
  })
})

describe('underscores at the border', () => {
  it.each<[string, object]>([
    ['mcp____x', { ok: true, readings: [{ server: '__x' }] }],
    ['mcp____', { ok: false, problem: 'names no tool' }],
    ['mcp__a__', { ok: false, problem: 'names no tool', hint: 'Did you mean "mcp__a"?' }],
    ['mcp__a b__', { ok: false, problem: 'is not a rule' }],
    ['mcp__a/b', { ok: false, hint: 'Did you mean "mcp__a__b"?' }],
    ['a/b', { ok: false, hint: 'Did you mean "a.b"?' }],
  ])('%s', (text, expected) => {
    expect(parseRule(text, 'restrict')).toMatchObject(expected)
  })
})

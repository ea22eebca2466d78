import { describe, expect, it } from 'vitest'
import { abbreviated, isSecret, maskEntry, maskUrl, maskValue } from './mask.ts'

const SECRET = 'Zx9Qw8Er7Ty6Ui5Op4As3Df2'
const shown = (written: unknown) => JSON.stringify(maskEntry(written))

describe('nothing secret leaks', () => {
  it.each<[string, unknown]>([
    ['an environment variable by its name', { env: { GITHUB_TOKEN: SECRET } }],
    ['a password', { env: { PGPASSWORD: SECRET, DB_PASS: SECRET, MYSQL_PWD: SECRET } }],
    ['a personal access token', { env: { GH_PAT: SECRET } }],
    ['a header', { headers: { Authorization: `Bearer ${SECRET}`, 'X-API-Key': SECRET } }],
    ['a number', { env: { AUTH_PIN_TOKEN: 918273645 } }],
    ['a flag', { args: ['--api-key', SECRET] }],
    ['a flag with a sign', { args: [`--token=${SECRET}`] }],
    ['docker -e', { args: ['run', '-e', `GITHUB_TOKEN=${SECRET}`, 'image'] }],
    ['mcp-remote --header', { args: ['--header', `Authorization: Bearer ${SECRET}`] }],
    ['mcp-remote --header without a space', { args: ['--header', `Authorization:Bearer ${SECRET}`] }],
    ['a whole command line', { command: `npx server --token ${SECRET} --api-key="${SECRET}"` }],
    ['a shell word', { args: ['-c', `API_KEY=${SECRET} exec server`] }],
    ['a headers helper', { headersHelper: `echo '{"a": 1}' -H "Authorization: Bearer ${SECRET}"` }],
    ['a password in a URL', { url: `https://user:${SECRET}@example.com/mcp` }],
    ['a token as the user of a URL', { url: `https://${SECRET}@example.com/mcp` }],
    ['a query', { url: `https://example.com/mcp?a=1&api_key=${SECRET}` }],
    ['a query behind a variable host', { url: `https://\${HOST}/mcp?token=${SECRET}` }],
    [
      'a connection string',
      { args: [`postgresql://me:${SECRET}@db/x`], env: { DATABASE_URL: `mysql://a:${SECRET}@h` } },
    ],
    ['a URL in an argument', { args: [`https://example.com/sse?access_token=${SECRET}`] }],
    ['a webhook', { env: { SLACK_WEBHOOK_URL: `https://hooks.example/services/T0/B0/${SECRET}` } }],
    ['a default of a variable', { env: { API_KEY: `\${API_KEY:-${SECRET}}` } }],
    ['a key that no schema knows', { oauth: { clientSecret: SECRET }, apiKey: SECRET }],
    ['a list under a telling name', { tokens: [SECRET] }],
    ['vendor tokens under any name', { env: { A: `sk-${SECRET}`, B: `ghp_${SECRET}`, C: `xoxb-${SECRET}` } }],
    ['a JWT inside a text', { args: ['-c', `use eyJhbGciOi.${SECRET}.${SECRET}`] }],
    ['a private key', { env: { PEM: `-----BEGIN PRIVATE KEY-----\n${SECRET}\n-----END` } }],
    [
      'entries of the wrong shape',
      [{ env: `TOKEN=${SECRET}`, nested: { deep: { password: SECRET } } }].map(({ nested }) => nested),
    ],
  ])('%s', (_, written) => {
    const text = shown(written)
    expect(text).toContain('•••')
    // Four characters to recognise it by are fine; eight in a row would be half a leak.
    for (let at = 0; at + 8 <= SECRET.length; at++) expect(text).not.toContain(SECRET.slice(at, at + 8))
    expect(text).not.toContain('918273645')
  })
})

describe('what is plainly no secret stays readable', () => {
  it.each<[string, unknown]>([
    [
      'ordinary words',
      { command: 'npx', args: ['-y', 'skills-server', 'npm-run', 'pkg', '--key-file', '/etc/x'] },
    ],
    [
      'paths and places',
      { env: { PATH: '/usr/bin', SSH_AUTH_SOCK: '/tmp/s', TOKEN_URL: 'https://a/b', PORT: '80' } },
    ],
    [
      'look-alike names',
      { env: { GIT_AUTHOR_NAME: 'Ann', KEYBOARD: 'us', MONKEY: 'yes', TOKENIZER: 'bpe' } },
    ],
    ['public keys', { env: { PUBLIC_KEY: 'abc' } }],
    ['references', { env: { TOKEN: '${TOKEN}' }, headers: { Authorization: 'Bearer ${env:TOKEN}' } }],
    ['references in URLs', { url: 'https://${USER}:${PASS}@x/mcp?token=${T}' }],
    ['plain queries', { url: 'https://example.com/mcp?mode=fast&x=1' }],
    [
      'numbers, flags and lists',
      { timeout: 5, disabled: true, permissions: { allowedTools: ['get_token'] } },
    ],
    ['prose', { description: 'Basic auth: uses a token for the Bearer of news' }],
    ['null and text', null],
  ])('%s', (_, written) => expect(maskEntry(written)).toEqual(written))

  it('keeps the recognisable parts of what it masks', () => {
    expect(maskUrl('https://u:pw@example.com/mcp?token=abc&x=1')).toBe(
      'https://•••@example.com/mcp?token=•••&x=1',
    )
    expect(maskValue('Authorization', `Bearer ${SECRET}`)).toBe('Bearer Zx9Q••• (24 characters)')
    expect(maskValue('TOKEN', 'short')).toBe('••• (5 characters)')
    expect(isSecret('TOKEN', '')).toBe(false)
  })

  it.each(['a.', ';', '?a', 'eyJaaaaaa-', '-a ', ' a:', 'A=', '://a'])(
    'is done with a million of %j',
    (unit) => {
      const long = unit.repeat(1_000_000 / unit.length)
      expect(
        JSON.stringify(maskEntry({ args: [long], env: { X: long }, command: long })).length,
      ).toBeLessThan(60_000)
    },
  )

  it('does not change what it is given', () => {
    const written = { env: { TOKEN: SECRET } }
    maskEntry(written)
    expect(written.env.TOKEN).toBe(SECRET)
  })
})

describe('how much is shown', () => {
  it.each([
    ['', ''],
    ['x'.repeat(7), '••• (7 characters)'],
    ['x'.repeat(8), 'xx••• (8 characters)'],
    ['x'.repeat(15), 'xx••• (15 characters)'],
    ['x'.repeat(16), 'xxxx••• (16 characters)'],
  ])('of the variable %j: %s', (value, expected) => {
    expect(abbreviated(value)).toBe(expected)
  })

  it.each([
    ['x'.repeat(15), '••• (15 characters)'],
    ['x'.repeat(16), 'xxxx••• (16 characters)'],
  ])('of the secret %j: %s', (value, expected) => {
    expect(maskValue('token', value)).toBe(expected)
  })

  it.each<[string, string]>([
    ['server --token $(cat f)', 'server --token $(cat f)'],
    ['server TOKEN=`cat f`', 'server TOKEN=`cat f`'],
    ['server --token abc;rm', 'server --token abc;rm'],
    ['server --token abc', 'server --token ••• (3 characters)'],
    ['server --port abc', 'server --port abc'],
    ['server PORT=abc', 'server PORT=abc'],
  ])('of the command %s', (command, expected) => {
    expect(maskEntry({ command })).toEqual({ command: expected })
  })

  it.each<[unknown[], unknown[]]>([
    [
      ['--token', 'abc'],
      ['--token', '••• (3 characters)'],
    ],
    [
      ['--token', '--flag'],
      ['--token', '--flag'],
    ],
    [
      ['--token', '$(cat f)'],
      ['--token', '$(cat f)'],
    ],
    [
      ['--port', 'abc'],
      ['--port', 'abc'],
    ],
    [
      ['token', 'abc'],
      ['token', 'abc'],
    ],
    [
      ['--token', 5],
      ['--token', 5],
    ],
    [
      ['--token', { password: 'abc' }],
      ['--token', { password: '••• (3 characters)' }],
    ],
  ])('of the arguments %j', (args, expected) => {
    expect(maskEntry({ args })).toEqual({ args: expected })
  })

  it.each<[string, string, boolean]>([
    ['TOKEN', 'x', true],
    ['PLAIN', 'x', false],
    ['PLAIN', 'Bearer x', true],
    ['PLAIN', 'sk-12345678', true],
    ['PUBLIC_TOKEN', 'x', false],
    ['WEBHOOK_URL', 'x', true],
    ['TOKEN_URL', 'x', false],
    ['mysecret', 'x', true],
    ['tokens', 'x', true],
    ['tokenizer', 'x', false],
  ])('%s=%s is a secret: %s', (name, value, secret) => {
    expect(isSecret(name, value)).toBe(secret)
  })

  it('of a text that is longer than is scanned', () => {
    expect(maskUrl('a '.repeat(2048))).toBe('a '.repeat(2048))
    expect(maskUrl(`${'a '.repeat(2048)}b`)).toMatch(/… \(4097 characters\)$/)
    expect(maskEntry({ command: 'a '.repeat(2048) })).toEqual({ command: 'a '.repeat(2048) })
    expect(JSON.stringify(maskEntry({ command: `${'a '.repeat(2048)}b` }))).toMatch(
      /… \(4097 characters\)"\}$/,
    )
  })

  it.each([
    ['https://u@h/?token=', 'https://•••@h/?token='],
    ['https://${U}@h/?token=${T}&x=1', 'https://${U}@h/?token=${T}&x=1'],
    ['https://h/?mode=abc;key=abc', 'https://h/?mode=abc;key=•••'],
    ['https://h/?mode=abc;key=a;bc&x=1', 'https://h/?mode=abc;key=•••&x=1'],
    ['https://h/?token=a;bc', 'https://h/?token=•••'],
    ['https://h/?mode=abc;key', 'https://h/?mode=abc;key'],
    ['https://h/?a=1;b=2', 'https://h/?a=1;b=2'],
    ['https://h/?a=1;token=${T}', 'https://h/?a=1;token=${T}'],
  ])('of the address %s', (url, expected) => {
    expect(maskUrl(url)).toBe(expected)
  })
})

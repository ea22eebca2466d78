// named.mjs: edits that no test noticed once, each with what it would do to a user. `npm run mutation -- --named` makes
// exactly these. `before` is found once in its file.

export const NAMED = [
  {
    what: 'an empty allowedTools list opens everything',
    file: 'packages/core/src/permissions/entry-permissions.ts',
    before: 'permissions.allowedTools &&',
    after: 'permissions.allowedTools?.length &&',
  },
  {
    what: 'an empty allowedResources list opens everything',
    file: 'packages/core/src/permissions/entry-permissions.ts',
    before: 'request.resource && allowedResources &&',
    after: 'request.resource && allowedResources?.length &&',
  },
  {
    what: 'a redacting PostToolUse hook: the original is sent as well',
    file: 'packages/core/src/tools/call-hooks.ts',
    before: '    content: [...blocksOf(output), ...added],',
    after: '    ...answer, content: [...blocksOf(output), ...added],',
  },
  {
    what: 'a deny rule misses a tool whose registered name has a suffix',
    file: 'packages/core/src/config/rule-matcher.ts',
    before: "(use === 'restrict' && known !== undefined && matchesGlob(pattern, known))",
    after: 'false',
  },
  {
    what: 'a deny rule misses the tool that another name was suffixed for',
    file: 'packages/core/src/config/rule-matcher.ts',
    before: 'matchesGlob(pattern, names.tool) ||\n      matchesGlob(pattern, spelled) ||',
    after: '(names.name === undefined && matchesGlob(pattern, names.tool)) ||',
  },
  {
    what: 'a half-written keychain entry is taken for a login',
    file: 'packages/core/src/auth/vault-keychain.ts',
    before: 'parts.every(',
    after: 'parts.some(',
  },
  {
    what: 'a followed log repeats every line',
    file: 'packages/core/src/connection/server-log.ts',
    before: '    rest = rest.slice(cut)\n',
    after: '',
  },
  {
    what: 'a followed log reads the file from its start each time',
    file: 'packages/core/src/connection/server-log.ts',
    before: '        offset += Buffer.byteLength(text)\n',
    after: '',
  },
  {
    what: 'a call that is cancelled during a reconnect is still sent',
    file: 'packages/core/src/connection/requests.ts',
    before: 'on.current() ?? (await on.ready(options.signal))',
    after: 'on.current() ?? (await on.ready(undefined))',
  },
  {
    what: 'a headersHelper runs without its environment',
    file: 'packages/core/src/transports/entry-headers.ts',
    before: '{ ...definedOnly(host.env) }',
    after: '{}',
  },
  {
    what: 'a headersHelper does not learn its server',
    file: 'packages/core/src/transports/entry-headers.ts',
    before: '      env[`${prefix}_MCP_SERVER_URL`] = this.#entry.url\n',
    after: '',
  },
  {
    what: 'the AI SDK form loses the abort signal',
    file: 'packages/core/src/tools/formats/ai-sdk.ts',
    before: '...(call?.abortSignal && { signal: call.abortSignal })',
    after: '',
  },
  {
    what: 'multipleOf 0.01 refuses valid amounts',
    file: 'packages/core/src/tools/schema/keywords/values.ts',
    before: 'return scaled(a) % scaled(b) === 0n',
    after: 'return value % step === 0',
  },
]

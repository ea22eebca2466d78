// areas.mjs: which sources are mutated and how many of the edits must be noticed. `beyond` are the tests that run the built
// command, for what the tests of the sources did not notice.

/** The share of all edits that must be noticed. */
export const GOAL = 0.9

/** `goal`: the share of an area of its own; the sample has enough edits of such an area to tell. */
export const AREAS = [
  {
    name: 'permissions',
    goal: 0.95,
    sources: [
      'packages/core/src/permissions',
      'packages/core/src/tools/permit.ts',
      'packages/core/src/interaction/hooks.ts',
    ],
    beyond: ['test/attacks/rules.test.ts', 'test/cli/server-requests.test.ts', 'test/cli/tools.test.ts'],
  },
  {
    name: 'trust',
    goal: 0.95,
    sources: [
      'packages/core/src/config/trust.ts',
      'packages/core/src/config/approval-records.ts',
      'packages/core/src/config/approval-writer.ts',
      'packages/core/src/config/policy.ts',
      'packages/core/src/config/project.ts',
      'packages/core/src/config/store.ts',
      'packages/core/src/config/manage.ts',
      'packages/core/src/files',
    ],
    beyond: ['test/attacks', 'test/cli/configuration.test.ts'],
  },
  {
    name: 'auth',
    goal: 0.95,
    sources: ['packages/core/src/auth'],
    beyond: ['test/auth-board.test.ts', 'test/cli/login.test.ts'],
  },
  {
    name: 'config',
    sources: ['packages/core/src/config'],
    beyond: ['test/cli/configuration.test.ts', 'test/watch.test.ts'],
  },
  {
    name: 'connection',
    sources: ['packages/core/src/connection'],
    beyond: ['packages/core/src/board.test.ts', 'test/faults/faults.test.ts', 'test/cli/board.test.ts'],
  },
  {
    name: 'transports',
    sources: ['packages/core/src/transports'],
    beyond: ['packages/core/src/connection', 'test/faults/faults.test.ts'],
  },
  {
    name: 'schemas and formats',
    sources: ['packages/core/src/tools'],
    beyond: ['packages/core/src/board.test.ts', 'test/cli/tools.test.ts'],
  },
  {
    name: 'gateway',
    sources: ['packages/gateway/src'],
    beyond: ['test/attacks/gateway.test.ts', 'test/cli/serve.test.ts', 'test/gateway-operation.test.ts'],
  },
]

/**
 * Edits that no test can notice, each with its reason. `before` is the text that is replaced, with enough around it to be
 * found once in the file; `kind` is the mutant's.
 */
export const EQUIVALENTS = [
  {
    file: 'packages/core/src/permissions/audit-file.ts',
    kind: 'moved boundary',
    before: 'lastBreak + 1 < tail.length',
    reason: 'a file that ends with a whole line is cut at its end, which changes nothing',
  },
  {
    file: 'packages/core/src/permissions/audit-file.ts',
    kind: 'moved boundary',
    before: 'bytes >= LONGEST_TAIL_BYTES',
    reason: 'it only looks further back in a log of millions of unfinished bytes',
  },
  {
    file: 'packages/core/src/permissions/audit-file.ts',
    kind: 'swapped method',
    before: 'lines.some((line) => HASH_FIELD.test(line))',
    reason: 'it only reads more of the file than it needs',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'moved boundary',
    before: 'needed > this.#bytes.length',
    reason: 'a buffer that just fits is made larger',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before: 'if (isSame && last.user === user && last.outcome === outcome) return last.text',
    reason: 'the same text is made again',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before: 'if (known !== undefined) return known',
    reason: 'the same text is made again',
  },
  {
    file: 'packages/core/src/permissions/audit-verify.ts',
    kind: 'dropped guard',
    before: 'if (found.length >= limit) break',
    reason: 'older files are read and not shown',
  },
  {
    file: 'packages/core/src/permissions/audit-verify.ts',
    kind: 'moved boundary',
    before: 'if (found.length >= limit) break',
    reason: 'an older file is read and not shown',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'dropped guard',
    before:
      "  if (process.platform === 'win32') {\n    if ((await lstat(folder)).isSymbolicLink()) throw linked(folder)\n    return work(folder)\n  }",
    reason: 'it is for Windows, and the tests run on Linux',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'negated condition',
    before: 'await work(usable ? held : folder)',
    reason: 'only a link that replaces the folder between two system calls would tell',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'swapped && and ||',
    before:
      "const usable = process.platform === 'linux' && (await stat(held).catch(() => undefined))?.isDirectory()",
    reason: 'both hold on Linux, where the tests run',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'negated comparison',
    before: "const usable = process.platform === 'linux'",
    reason: 'only a link that replaces the folder between two system calls would tell',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'swapped && and ||',
    before:
      "const busy = process.platform === 'win32' && (code === 'EPERM' || code === 'EACCES' || code === 'EBUSY')",
    reason: 'only Windows is ever busy',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'negated comparison',
    before:
      "const busy = process.platform === 'win32' && (code === 'EPERM' || code === 'EACCES' || code === 'EBUSY')",
    reason: 'only Windows is ever busy',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'moved boundary',
    before: 'attempt >= RENAME_TRIES',
    reason: 'only Windows is ever busy',
  },
  {
    file: 'packages/core/src/permissions/audit-file.ts',
    kind: 'swapped && and ||',
    before: 'start === 0 || bytes >= LONGEST_TAIL_BYTES',
    reason: 'a log without any hash is only read more than once',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'negated condition',
    before: 'this.#text.length > AUDIT_LIMITS.textChars',
    reason: 'when lines become bytes changes nothing that is written',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'moved boundary',
    before: 'this.#text.length > AUDIT_LIMITS.textChars',
    reason: 'when lines become bytes changes nothing that is written',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'moved boundary',
    before: 'at - start > AUDIT_LIMITS.hashedBytes',
    reason: 'the same bytes are hashed in other pieces',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'dropped guard',
    before: 'if (buffer.length >= used + CLOSE_BYTES) return buffer',
    reason: 'a buffer with room is copied',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'moved boundary',
    before: 'buffer.length >= used + CLOSE_BYTES',
    reason: 'a buffer that just fits is copied',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'negated condition',
    before: 'if (start < used) await setImmediate()',
    reason: 'only other work gets its turn earlier or later',
  },
  {
    file: 'packages/core/src/permissions/audit-blocks.ts',
    kind: 'moved boundary',
    before: 'if (start < used) await setImmediate()',
    reason: 'only other work gets its turn once more',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'dropped guard',
    before: 'if (text.length < SHORTEST_SECRET) return text',
    reason: 'no pattern matches so short a text',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'dropped guard',
    before: 'if (known !== undefined) return known',
    reason: 'the same is found again',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'negated condition',
    before: 'if (judged.size >= JUDGED_KEYS) judged.clear()',
    reason: 'the same is found again',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'moved boundary',
    before: 'if (judged.size >= JUDGED_KEYS) judged.clear()',
    reason: 'one more is remembered',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'dropped clean-up',
    before: 'judged.clear()',
    reason: 'only memory would tell, after a thousand names of arguments',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'negated condition',
    before: 'key.length <= AUDIT_LIMITS.argumentChars',
    reason: 'the same is found again',
  },
  {
    file: 'packages/core/src/permissions/redact.ts',
    kind: 'moved boundary',
    before: 'key.length <= AUDIT_LIMITS.argumentChars',
    reason: 'the same is found again',
  },
  {
    file: 'packages/core/src/permissions/rules.ts',
    kind: 'dropped guard',
    before: 'if (known) return known',
    reason: 'the rule is read again',
  },
  {
    file: 'packages/core/src/permissions/gate.ts',
    kind: 'negated condition',
    before: "request.resource ? 'resource' : request.prompt ? 'prompt' : 'tool'",
    reason: 'tools and prompts still have keys of their own',
  },
  {
    file: 'packages/core/src/auth/callback.ts',
    kind: 'flipped boolean',
    before: 'exclusive: true',
    reason: 'it matters only in a worker of a cluster',
  },
  {
    file: 'packages/core/src/auth/challenge.ts',
    kind: 'moved boundary',
    before: 'at < header.length; guard++',
    reason: 'at the end there is no word, which ends it too',
  },
  {
    file: 'packages/core/src/auth/cross-app-access.ts',
    kind: 'dropped guard',
    before: 'if (current && holds(current, context)) return current',
    reason: 'the same is found under the lock',
  },
  {
    file: 'packages/core/src/auth/dpop.ts',
    kind: 'flipped boolean',
    before: "ALGORITHM, false, [\n    'sign',\n  ]",
    reason: 'no code exports the imported key',
  },
  {
    file: 'packages/core/src/auth/token-endpoint.ts',
    kind: 'flipped boolean',
    before: "algorithm, false, ['sign']",
    reason: 'no code exports the imported key',
  },
  {
    file: 'packages/core/src/auth/vault-file.ts',
    kind: 'dropped guard',
    before: 'if (existing) return unlock(existing, key, dir)',
    reason: 'the same is found under the lock',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'negated condition',
    before:
      "if (process.platform === 'win32') {\n    if ((await lstat(folder)).isSymbolicLink()) throw linked(folder)\n    return work(folder)",
    reason: 'only a link that replaces the folder between two system calls would tell',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'negated comparison',
    before: "if (process.platform === 'win32') {",
    reason: 'only a link that replaces the folder between two system calls would tell',
  },
  {
    file: 'packages/core/src/files/write.ts',
    kind: 'swapped && and ||',
    before: 'if (!busy || attempt >= RENAME_TRIES) throw error',
    reason: 'only Windows is ever busy; elsewhere the same error comes later',
  },
  {
    file: 'packages/core/src/files/read.ts',
    kind: 'moved boundary',
    before: 'while (total < limit)',
    reason: 'nothing more is read, which ends it too',
  },
  {
    file: 'packages/core/src/config/fingerprints.ts',
    kind: 'moved boundary',
    before: 'members.sort(([a], [b]) => (a < b ? -1 : 1))',
    reason: 'no two keys of an object are the same',
  },
  {
    file: 'packages/core/src/config/rule-syntax.ts',
    kind: 'moved boundary',
    before: "let at = rest.indexOf('__', 1); at > 0;",
    reason: 'the search begins at 1, so it never finds 0',
  },
  {
    file: 'packages/core/src/config/rule-syntax.ts',
    kind: 'moved boundary',
    before: 'border < 0 ? readings',
    reason: 'the search begins at 1, so it never finds 0',
  },
  {
    file: 'packages/core/src/config/rule-syntax.ts',
    kind: 'moved boundary',
    before: "let at = text.indexOf('.', 1); at > 0;",
    reason: 'the search begins at 1, so it never finds 0',
  },
  {
    file: 'packages/core/src/config/parse.ts',
    kind: 'dropped guard',
    before: "if (body.trim() === '') return { root: undefined, broken: false, diagnostics: [], position }",
    reason: 'the reader finds nothing in it either',
  },
  {
    file: 'packages/gateway/src/results/jmespath.ts',
    kind: 'moved boundary',
    before: 'const isForward = step > 0',
    reason: 'a step of 0 was refused before',
  },
  {
    file: 'packages/gateway/src/results/jmespath-functions.ts',
    kind: 'moved boundary',
    before: '(order(value, best) * sign > 0 ? value : best), values[0])',
    reason: 'of two equal values one is as good as the other',
  },
  {
    file: 'packages/core/src/files/lock.ts',
    kind: 'moved boundary',
    before: 'if (Date.now() - info.mtimeMs > staleMs) return true',
    reason: 'only a lock of exactly that age would tell',
  },
  {
    file: 'packages/core/src/files/lock.ts',
    kind: 'moved boundary',
    before: 'if (!owner) return Date.now() - info.mtimeMs > 2000',
    reason: 'only a lock of exactly that age would tell',
  },
  {
    file: 'packages/core/src/files/lock.ts',
    kind: 'moved boundary',
    before: 'Date.now() - info.mtimeMs > BREAKER_STALE_MS',
    reason: 'only a file of exactly that age would tell',
  },
  {
    file: 'packages/core/src/config/edit.ts',
    kind: 'moved boundary',
    before: "while (at < text.length && text[at] !== '\"')",
    reason: 'a text in a sound document ends before the document does',
  },
  {
    file: 'packages/core/src/config/edit.ts',
    kind: 'moved boundary',
    before: 'while (at < position) {',
    reason: 'at the comma itself no comment begins',
  },
  {
    file: 'packages/core/src/config/parse.ts',
    kind: 'dropped guard',
    before: 'if (!(error instanceof RangeError)) throw error',
    reason: 'the reader throws nothing else',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'swapped && and ||',
    before: '(shownArguments !== undefined || args === undefined)',
    reason: 'the event is copied',
  },
  {
    file: 'packages/core/src/auth/vault-keychain.ts',
    kind: 'negated comparison',
    before: "const store = host.platform === 'linux' ? { linux:",
    reason: 'only the keychain of a desktop would tell; the test for it runs where there is one',
  },
  {
    file: 'packages/core/src/config/resolve.ts',
    kind: 'dropped guard',
    before: 'if (!hasExternal) return new Map(drafts.map((draft) => [draft.name, draft]))',
    reason: 'it saves a comparison that finds nothing without such servers',
  },
  {
    file: 'packages/core/src/config/expand.ts',
    kind: 'moved boundary',
    before: 'for (let at = from; at < text.length; at++)',
    reason: 'at the end of the text there is no brace',
  },
  {
    file: 'packages/core/src/config/rule-syntax.ts',
    kind: 'moved boundary',
    before: 'border < 0 ? name',
    reason: 'the search begins at 1, so it never finds 0',
  },
  {
    file: 'packages/core/src/files/lock.ts',
    kind: 'moved boundary',
    before: 'if (late < 2 * BREAKER_STALE_MS',
    reason: 'only a wait of exactly that time would tell',
  },
  {
    file: 'packages/core/src/files/lock.ts',
    kind: 'moved boundary',
    before: 'else if (late >= 0)',
    reason: 'only a wait of exactly that time would tell',
  },
  {
    file: 'packages/core/src/files/read.ts',
    kind: 'dropped default',
    before: 'fs.constants.O_NONBLOCK ?? 0',
    reason: 'Linux has it, and the tests run there',
  },
  {
    file: 'packages/core/src/config/import/servers.ts',
    kind: 'dropped guard',
    before: 'if (!(error instanceof WrongShape)) throw error',
    reason: 'reading an entry throws nothing else',
  },
  {
    file: 'packages/core/src/config/import/tree.ts',
    kind: 'dropped guard',
    before: 'if (!(error instanceof TomlError)) throw error',
    reason: 'the reader throws nothing else',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'negated condition',
    before: 'this.#latest.push(this.#lasting(event)) >= AUDIT_LIMITS.latest',
    reason: 'when lines are made changes nothing that is written',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'moved boundary',
    before: 'this.#latest.push(this.#lasting(event)) >= AUDIT_LIMITS.latest',
    reason: 'when lines are made changes nothing that is written',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before: 'if (count + 1 < AUDIT_LIMITS.gathered && bytes < AUDIT_LIMITS.queuedBytes) return undefined',
    reason: 'lines are only gathered for a shorter moment',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'moved boundary',
    before: 'count + 1 < AUDIT_LIMITS.gathered && bytes < AUDIT_LIMITS.queuedBytes',
    reason: 'lines are only gathered for a moment longer',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before: 'if (at !== undefined && (shownArguments !== undefined || args === undefined)) return event',
    reason: 'the event is copied',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before: 'if (at === this.#clock.at) return this.#clock.text',
    reason: 'the same text is made again',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'dropped guard',
    before:
      'if (this.#flushing || this.#waiting.count + this.#latest.length >= AUDIT_LIMITS.gathered) return',
    reason: 'lines are only gathered for a moment longer',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'swapped && and ||',
    before: 'this.#flushing || this.#waiting.count + this.#latest.length >= AUDIT_LIMITS.gathered',
    reason: 'lines are only gathered for a moment longer',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'moved boundary',
    before: 'this.#flushing || this.#waiting.count + this.#latest.length >= AUDIT_LIMITS.gathered',
    reason: 'lines are only gathered for a moment longer',
  },
  {
    file: 'packages/core/src/permissions/audit.ts',
    kind: 'flipped boolean',
    before: 'this.#flushing = true',
    reason: 'lines are only gathered for a moment longer',
  },
  {
    file: 'packages/core/src/config/import/servers.ts',
    kind: 'dropped guard',
    before: "if (kind === 'stdio') return undefined",
    reason: 'every client can start a command',
  },
  {
    file: 'packages/gateway/src/forward.ts',
    kind: 'dropped guard',
    before: 'if (!gateway.rewritesUris) return result',
    reason: 'withPublicUris passes the same result on',
  },
  {
    file: 'packages/gateway/src/server-span.ts',
    kind: 'dropped guard',
    before:
      'if (provider instanceof ProxyTracerProvider && !provider.getDelegateTracer(SCOPE)) return undefined',
    reason: 'the span that is started without an SDK is not recorded, which is found next',
  },
  {
    file: 'packages/core/src/config/store.ts',
    kind: 'dropped guard',
    before: "if (error.code !== 'EEXIST') throw error",
    reason: 'the file beside it was written a moment before; only a disk that fills up then would tell',
  },
  {
    file: 'packages/core/src/auth/authorization-code.ts',
    kind: 'dropped default',
    before: 'options.port ?? options.preferredPort ?? 8976',
    reason: 'without a given port listening fails only on a machine without a loopback address',
  },
  {
    file: 'packages/core/src/transports/http-retries.ts',
    kind: 'moved boundary',
    before: 'now - this.#lastTraffic > HTTP_LIMITS.idleMs',
    reason: 'only a pause of exactly that time would tell',
  },
  {
    file: 'packages/core/src/transports/notification-stream.ts',
    kind: 'moved boundary',
    before: 'this.#options.host.now() - this.#openedAt >= HTTP_LIMITS.steadyMs',
    reason: 'only a stream of exactly that age would tell',
  },
  {
    file: 'packages/core/src/transports/process-group.ts',
    kind: 'moved boundary',
    before: 'if (performance.now() >= end) return false',
    reason: 'only a look at exactly that moment would tell',
  },
  {
    file: 'packages/core/src/config/policy.ts',
    kind: 'dropped default',
    before: "matcher.serverCommand?.[at] ?? ''",
    reason: 'the two lists are of one length',
  },
  {
    file: 'packages/core/src/auth/vault-keychain.ts',
    kind: 'negated condition',
    before: "host.platform === 'linux' ? { linux:",
    reason: 'only the keychain of a desktop would tell; the test for it runs where there is one',
  },
  {
    file: 'packages/core/src/auth/guarded-fetch.ts',
    kind: 'flipped boolean',
    before: 'verbatim: true',
    reason: 'only the order of the addresses changes; all are checked and Node tries each',
  },
  {
    file: 'packages/core/src/transports/stdio.ts',
    kind: 'flipped boolean',
    before: 'verbatim: false',
    reason: 'it is read only on Windows',
  },
  {
    file: 'packages/core/src/transports/oversized-response.ts',
    kind: 'dropped guard',
    before: "if (comma !== ',') return members",
    reason: 'after a value without a comma no member follows, which ends it too',
  },
]

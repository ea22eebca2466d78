// areas.mjs: which sources are mutated, which tests have to notice, and how many mutants they must notice.
// `beside` runs first and needs no build; `beyond` runs the built command for what the first half did not notice.

export const AREAS = [
  {
    name: 'permissions',
    goal: 0.95,
    sources: [
      'packages/core/src/permissions',
      'packages/core/src/tools/permit.ts',
      'packages/core/src/interaction/hooks.ts',
    ],
    beside: [
      'packages/core/src/permissions',
      'packages/core/src/interaction',
      'packages/core/src/text/question-text.test.ts',
      'packages/core/src/tools/permit.test.ts',
      'packages/core/src/board.test.ts',
      'packages/core/src/tools/call.test.ts',
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
    beside: ['packages/core/src/config', 'packages/core/src/files'],
    beyond: ['test/attacks', 'test/cli/configuration.test.ts'],
  },
  {
    name: 'auth',
    goal: 0.95,
    sources: ['packages/core/src/auth'],
    beside: ['packages/core/src/auth'],
    beyond: ['test/auth-board.test.ts', 'test/cli/login.test.ts'],
  },
  {
    name: 'config',
    goal: 0.9,
    sources: ['packages/core/src/config'],
    beside: ['packages/core/src/config'],
    beyond: ['test/cli/configuration.test.ts', 'test/watch.test.ts'],
  },
  {
    name: 'connection',
    goal: 0.9,
    sources: ['packages/core/src/connection'],
    beside: ['packages/core/src/connection'],
    beyond: ['packages/core/src/board.test.ts', 'test/faults/faults.test.ts', 'test/cli/board.test.ts'],
  },
  {
    name: 'transports',
    goal: 0.9,
    sources: ['packages/core/src/transports'],
    beside: ['packages/core/src/transports'],
    beyond: ['packages/core/src/connection', 'test/faults/faults.test.ts'],
  },
  {
    name: 'schemas and formats',
    goal: 0.9,
    sources: ['packages/core/src/tools'],
    beside: ['packages/core/src/tools'],
    beyond: ['packages/core/src/board.test.ts', 'test/cli/tools.test.ts'],
  },
  {
    name: 'gateway',
    goal: 0.9,
    sources: ['packages/gateway/src'],
    beside: ['packages/gateway/src'],
    beyond: ['test/attacks/gateway.test.ts', 'test/cli/serve.test.ts'],
  },
]

/**
 * Edits that no test can notice, each with its reason. `before` is the text that is replaced, with enough around it to be
 * found once in the file; `kind` is the mutant's.
 */
export const EQUIVALENTS = []

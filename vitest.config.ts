import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const EVERY = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts']
/**
 * Files in a process of their own: they count the handles, timers or listeners of their process, load modules anew, or load the
 * whole library with faults. All others leave nothing behind, so one process runs many of them and loads the modules once: a
 * process and its modules cost as much as most files do.
 */
const ALONE = [
  'packages/core/src/connection/{catalog-store,leaks}.test.ts',
  'packages/core/src/transports/{sse,stdio,streamable-http,websocket}.test.ts',
  'test/faults/faults.test.ts',
]
/** The longest files, longest first: one of them that starts last keeps the machine idle. The others follow by their size. */
const LONGEST = [
  'test/attacks/trust.test.ts',
  'test/serve-many.test.ts',
  'test/cli/tools.test.ts',
  'test/attacks/gateway.test.ts',
  'test/cli/talk.test.ts',
  'test/cli/resident.test.ts',
  'test/cli/resident-faults.test.ts',
  'test/attacks/places.test.ts',
  'test/docs.test.ts',
  'packages/codebase/src/text/search.test.ts',
  'test/attacks/rules.test.ts',
  'test/cli/configuration.test.ts',
  'test/real-clients.test.ts',
  'test/conformance/serve.test.ts',
  'test/processes/commands.test.ts',
  'test/user-logins-replicas.test.ts',
  'test/processes/one-call-scenes.test.ts',
  'test/cli/reload.test.ts',
  'test/processes/long-running.test.ts',
  'test/cli/waits.test.ts',
  'test/web/flows.test.ts',
  'test/processes/one-call.test.ts',
  'test/web/budget.test.ts',
  'test/attacks/terminal.test.ts',
  'packages/gateway/src/http/server.test.ts',
  'test/gateway-operation.test.ts',
  'test/cli/chat.test.ts',
  'test/attacks/codebase.test.ts',
  'test/cli/doctor.test.ts',
  'test/cli/serve.test.ts',
  'test/cli/both-modes.test.ts',
  'test/attacks/records.test.ts',
  'packages/codebase/src/index/text-index.test.ts',
  'packages/gateway/src/eras.test.ts',
  'test/cli/builtin-servers.test.ts',
  'test/attacks/replicas.test.ts',
  'test/cli/tasks.test.ts',
  'test/cli/hints.test.ts',
  'packages/codebase/src/semantic/semantic-index.test.ts',
  'test/packages.test.ts',
  'test/attacks/schemas.test.ts',
  'test/cli/completion.test.ts',
  'test/cli/connect.test.ts',
]

const base = defineConfig({
  resolve: {
    alias: [
      { find: /^@plugboard\/core$/, replacement: source('./packages/core/src/index.ts') },
      {
        find: /^@plugboard\/core\/(config|config\/import|builtin|tools|permissions|interaction|auth|doctor|files)$/,
        replacement: source('./packages/core/src/$1/index.ts'),
      },
      { find: /^@plugboard\/core\/(.+)$/, replacement: source('./packages/core/src/$1.ts') },
      { find: /^@plugboard\/agent$/, replacement: source('./packages/agent/src/index.ts') },
      { find: /^@plugboard\/codebase$/, replacement: source('./packages/codebase/src/index.ts') },
      { find: /^@plugboard\/codebase\/root$/, replacement: source('./packages/codebase/src/root.ts') },
      { find: /^@plugboard\/workspace$/, replacement: source('./packages/workspace/src/index.ts') },
      { find: /^@plugboard\/resident$/, replacement: source('./packages/resident/src/index.ts') },
      {
        find: /^@plugboard\/resident\/client$/,
        replacement: source('./packages/resident/src/client/index.ts'),
      },
      {
        find: /^@plugboard\/resident\/admin-page$/,
        replacement: source('./packages/resident/src/web/admin-page.ts'),
      },
      {
        find: /^@plugboard\/resident\/(start|connect|open-remote)$/,
        replacement: source('./packages/resident/src/client/$1.ts'),
      },
      { find: /^@plugboard\/gateway$/, replacement: source('./packages/gateway/src/index.ts') },
      { find: /^@plugboard\/gateway\/parts$/, replacement: source('./packages/gateway/src/parts.ts') },
    ],
  },
  test: {
    // Bounds, not claims: what hangs fails, what is only slow on a busy machine does not.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    setupFiles: [source('./test/support/test-setup.ts')],
  },
})
const globalSetup = ['./test/support/global-setup.ts']

// Most tests wait for processes: with two cores, two workers leave half of the machine idle. Five are no faster than four.
const maxWorkers = 4

/** A process is used again while the next file may share it, so the files of their own come first; then the longest. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project, moduleId }: TestSpecification) => {
      if (project.config.isolate) return -1
      const found = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`))
      return found === -1 ? LONGEST.length : found
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

/** Every file in a process of its own, for runners that extend it. */
export const isolated = mergeConfig(base, { test: { include: EVERY, globalSetup, maxWorkers } })

export default defineConfig({
  test: {
    globalSetup,
    maxWorkers,
    sequence: { sequencer: LongestFirst },
    projects: [
      mergeConfig(base, { test: { name: 'own', include: ALONE } }),
      mergeConfig(base, {
        test: {
          name: 'shared',
          include: EVERY,
          exclude: [...configDefaults.exclude, ...ALONE],
          isolate: false,
        },
      }),
    ],
  },
})

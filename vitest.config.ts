import { fileURLToPath } from 'node:url'
import { configDefaults, defineConfig, mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const EVERY = ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts']
/**
 * Tests that leave nothing behind in their process: one process runs many of these files, and loads the modules once. A
 * file that counts handles or listeners, or that must survive a crash of another one, is not among them.
 */
const SHARED = [
  'packages/core/src/{async,auth,board,builtin,config,files,interaction,permissions,text,tools}/**/*.test.ts',
  'packages/gateway/src/**/*.test.ts',
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

// Most tests wait for processes: with two cores, two workers leave half of the machine idle.
const maxWorkers = 4

/** A process is used again only while the next file may share it, so these come first. */
class SharedFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isAlone = ({ project }: TestSpecification) => Number(project.config.isolate)
    return (await super.sort(files)).toSorted((a, b) => isAlone(a) - isAlone(b))
  }
}

/** Every file in a process of its own, for runners that extend it. */
export const isolated = mergeConfig(base, { test: { include: EVERY, globalSetup, maxWorkers } })

export default defineConfig({
  test: {
    globalSetup,
    maxWorkers,
    sequence: { sequencer: SharedFirst },
    projects: [
      mergeConfig(base, { test: { name: 'shared', include: SHARED, isolate: false } }),
      mergeConfig(base, {
        test: { name: 'own', include: EVERY, exclude: [...configDefaults.exclude, ...SHARED] },
      }),
    ],
  },
})

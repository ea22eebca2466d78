import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
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
        find: /^@plugboard\/resident\/(start|connect)$/,
        replacement: source('./packages/resident/src/client/$1.ts'),
      },
      { find: /^@plugboard\/gateway$/, replacement: source('./packages/gateway/src/index.ts') },
    ],
  },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'test/**/*.test.ts'],
    // Bounds, not claims: what hangs fails, what is only slow on a busy machine does not.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most tests wait for processes: with two cores, two workers leave half of the machine idle.
    maxWorkers: 4,
    globalSetup: ['./test/support/global-setup.ts'],
  },
})

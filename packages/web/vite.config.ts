import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The page: no address of another machine, no inline script or style, names with a hash of the content. */
export default defineConfig({
  root: path('.'),
  base: '/',
  logLevel: 'warn',
  mode: 'production',
  resolve: {
    alias: [{ find: /^@plugboard\/resident\/web\/(.+)$/, replacement: path('../resident/src/web/$1.ts') }],
  },
  build: {
    outDir: path('dist'),
    emptyOutDir: true,
    target: 'es2022',
    // A data: address in a style sheet would need a wider policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      input: [path('index.html'), path('admin.html')],
      // Small pieces are put together: each one is a request, and compresses worse alone.
      output: { experimentalMinChunkSize: 6000 },
      // Marks for other bundlers in the packages of others.
      onwarn: (warning, warn) => {
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE' && warning.code !== 'INVALID_ANNOTATION') warn(warning)
      },
    },
  },
})

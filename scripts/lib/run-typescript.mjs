// run-typescript.mjs: runs a TypeScript program of the tests in a plain Node process against the built packages.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build as bundle } from 'esbuild'
import { build } from '../build.mjs'
import { ensureInstalled, root } from '../ensure-install.mjs'

/** Resolves with the exit code. A signal to us reaches the program too. */
export async function runTypeScript(entry, args, nodeFlags = []) {
  ensureInstalled()
  await build()
  // Inside the workspace, so that the program finds the packages by name.
  const folder = join(root, 'node_modules', '.cache', `plugboard-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'program.mjs')
  try {
    await bundle({
      entryPoints: [join(root, entry)],
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      sourcemap: 'inline',
      logLevel: 'warning',
      plugins: [{ name: 'own-urls', setup: keepOwnUrls }],
    })
    const flags = ['--enable-source-maps', ...nodeFlags]
    const child = spawn(process.execPath, [...flags, file, ...args], { cwd: root, stdio: 'inherit' })
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
    return await new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Files find their neighbours by `import.meta.url`, which in a bundle would be the bundle's. */
function keepOwnUrls(build) {
  build.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replaceAll(
      'import.meta.url',
      JSON.stringify(pathToFileURL(path).href),
    ),
    loader: 'ts',
  }))
}

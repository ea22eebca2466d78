// Assembles the .wat files beside it into src/kernels.ts. Run it after editing one: node packages/codebase/wasm/assemble.mjs
import { readFileSync, writeFileSync } from 'node:fs'
import wabt from 'wabt'

const NAMES = ['trigrams', 'matmul']

/** The text of src/kernels.ts, as the .wat files say now. */
export async function kernelSource() {
  const tools = await wabt()
  const lines = [
    '// kernels.ts: the WebAssembly kernels, assembled from wasm/*.wat by wasm/assemble.mjs; edit those, not this.',
    '',
  ]
  for (const name of NAMES) {
    const text = readFileSync(new URL(`${name}.wat`, import.meta.url), 'utf8')
    const module = tools.parseWat(`${name}.wat`, text, { simd: true })
    const bytes = Buffer.from(module.toBinary({}).buffer)
    lines.push(`export const ${name.toUpperCase()}_WASM =`, `  '${bytes.toString('base64')}'`, '')
  }
  return lines.join('\n')
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  writeFileSync(new URL('../src/kernels.ts', import.meta.url), await kernelSource())

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

it('holds exactly what the .wat files assemble to', async () => {
  const script = new URL('../wasm/assemble.mjs', import.meta.url).href
  const { kernelSource } = (await import(/* @vite-ignore */ script)) as {
    kernelSource: () => Promise<string>
  }
  const bytesOf = (source: string) =>
    [...source.matchAll(/(\w+_WASM) =\s*'([^']+)'/g)].map(([, name, bytes]) => [name, bytes])
  const committed = bytesOf(readFileSync(new URL('./kernels.ts', import.meta.url), 'utf8'))
  expect(committed).toHaveLength(2)
  expect(bytesOf(await kernelSource())).toEqual(committed)
})

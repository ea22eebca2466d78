// semantic/model/encoder.ts: runs the MiniLM encoder: six layers of attention and feed-forward, then the mean of the words.
// Products are integers in WebAssembly (weights as they come, activations rounded to 13 bits); the rest is plain code.
import { MATMUL_WASM } from '../../kernels.ts'
import { startKernel, WASM_PAGE, type WasmMemory } from '../../wasm.ts'
import { bertUncased, Tokenizer } from './tokenizer.ts'
import { MODEL, type ModelFiles, type Tensor } from './weights.ts'

const WIDTH = MODEL.dimensions
const HEADS = 12
const HEAD = WIDTH / HEADS
const INNER = 4 * WIDTH
const LAYERS = 6
const TOKENS_MAX = 256
/** The largest rounded activation: 1536 products of it with a byte still fit into 32 bits. */
const ROUND = 4095

interface Kernel {
  readonly memory: WasmMemory
  multiply(
    a: number,
    b: number,
    out: number,
    rows: number,
    columns: number,
    depth: number,
    pitch: number,
  ): void
  largest(from: number, count: number): number
  round(from: number, to: number, rows: number, width: number, pitch: number, factor: number): void
  finish(
    from: number,
    to: number,
    bias: number,
    rows: number,
    width: number,
    pitch: number,
    factor: number,
  ): void
  lookup(at: number, count: number, table: number, steps: number, middle: number, last: number): void
  softmax(
    scores: number,
    shares: number,
    rows: number,
    count: number,
    pitch: number,
    table: number,
    step: number,
    last: number,
    whole: number,
  ): void
}

/** A matrix turned so that the numbers one output needs lie side by side, in units of `scale`; `at` and `bias` are addresses. */
interface Dense {
  readonly at: number
  readonly inputs: number
  readonly outputs: number
  readonly scale: number
  readonly bias: number
}

interface Norm {
  readonly gain: Float32Array
  readonly bias: Float32Array
}

interface Layer {
  readonly query: Dense
  readonly key: Dense
  readonly value: Dense
  readonly merge: Dense
  readonly mergeNorm: Norm
  readonly widen: Dense
  readonly narrow: Dense
  readonly outNorm: Norm
}

function layerOf(name: string, dense: (name: string) => Dense, norm: (name: string) => Norm): Layer {
  return {
    query: dense(`${name}/attention/self/query`),
    key: dense(`${name}/attention/self/key`),
    value: dense(`${name}/attention/self/value`),
    merge: dense(`${name}/attention/output/dense`),
    mergeNorm: norm(`${name}/attention/output`),
    widen: dense(`${name}/intermediate/dense`),
    narrow: dense(`${name}/output/dense`),
    outNorm: norm(`${name}/output`),
  }
}

export class Encoder {
  readonly #kernel: Kernel
  readonly #tokenizer: Tokenizer
  readonly #words: Tensor
  readonly #positions: Float32Array
  readonly #type: Float32Array
  readonly #inputNorm: Norm
  readonly #layers: readonly Layer[]
  /** Where the kernel's working areas begin, by what they hold. */
  readonly #area: {
    readonly left: number
    readonly right: number
    readonly whole: number
    readonly state: number
    readonly query: number
    readonly key: number
    readonly value: number
    readonly mixed: number
    readonly merged: number
    readonly wide: number
    readonly gelu: number
    readonly exp: number
    readonly zero: number
  }

  constructor({ tensors, vocabulary }: ModelFiles) {
    this.#tokenizer = new Tokenizer(bertUncased(vocabulary))
    this.#kernel = startKernel<Kernel>(MATMUL_WASM)
    const { memory } = this.#kernel
    const take = (name: string) => {
      const found = tensors.get(name)
      if (!found) throw new Error(`the model has no ${name}`)
      return found
    }
    let end = 0
    const reserve = (bytes: number) => {
      const at = (end + 15) & ~15
      end = at + bytes
      const pages = Math.ceil(end / WASM_PAGE) - memory.buffer.byteLength / WASM_PAGE
      if (pages > 0) memory.grow(pages)
      return at
    }
    const store = (values: Float32Array) => {
      const at = reserve(values.byteLength)
      new Float32Array(memory.buffer, at, values.length).set(values)
      return at
    }
    const dense = (name: string): Dense => {
      const weights = take(`${name}/Tensordot`)
      const [inputs = 0, outputs = 0] = weights.shape
      const at = reserve(inputs * outputs * 2)
      turn(weights, new Int16Array(memory.buffer, at, inputs * outputs), inputs, outputs)
      return { at, inputs, outputs, scale: weights.scale, bias: store(floats(take(`${name}/BiasAdd`))) }
    }
    this.#words = take('unknown')
    this.#positions = floats(take('unknown_0'))
    this.#type = floats(take('unknown_1')).slice(0, WIDTH)
    this.#inputNorm = normOf(take, 'embeddings')
    this.#layers = Array.from({ length: LAYERS }, (_, n) =>
      layerOf(`encoder/layer_._${n}`, dense, (name) => normOf(take, name)),
    )
    const rows = () => reserve(TOKENS_MAX * WIDTH * 4)
    this.#area = {
      left: reserve(TOKENS_MAX * INNER * 2),
      right: reserve(TOKENS_MAX * INNER * 2),
      whole: reserve(TOKENS_MAX * INNER * 4),
      state: rows(),
      query: rows(),
      key: rows(),
      value: rows(),
      mixed: rows(),
      merged: rows(),
      wide: reserve(TOKENS_MAX * INNER * 4),
      gelu: store(geluTable()),
      exp: store(expTable()),
      zero: reserve(INNER * 4),
    }
  }

  count(text: string): number {
    return this.#tokenizer.count(text)
  }

  /** A vector of length 1. */
  embed(text: string, tokens: number): Float32Array {
    const ids = this.#tokenizer.encode(text, Math.min(tokens, TOKENS_MAX))
    const rows = ids.length
    const { state, merged, mixed, wide, gelu } = this.#area
    // A dense layer reads rows in pairs; the odd one out reads what is left there and is not used.
    const view = (at: number) => new Float32Array(this.#kernel.memory.buffer, at, rows * WIDTH)
    this.#embeddings(ids, view(state))
    for (const layer of this.#layers) {
      this.#attention(layer, rows)
      this.#dense(mixed, layer.merge, merged, rows)
      addInto(view(merged), view(state))
      normalise(view(merged), layer.mergeNorm, rows)
      this.#dense(merged, layer.widen, wide, rows)
      this.#kernel.lookup(wide, rows * INNER, gelu, GELU_STEPS, GELU_REACH * GELU_STEPS + 0.5, GELU_LAST)
      this.#dense(wide, layer.narrow, state, rows)
      addInto(view(state), view(merged))
      normalise(view(state), layer.outNorm, rows)
    }
    return meanDirection(view(state), rows)
  }

  #embeddings(ids: readonly number[], state: Float32Array): void {
    const { bytes, min, scale } = this.#words
    ids.forEach((id, row) => {
      for (let n = 0; n < WIDTH; n++)
        state[row * WIDTH + n] =
          min +
          scale * (bytes[id * WIDTH + n] as number) +
          (this.#positions[row * WIDTH + n] as number) +
          (this.#type[n] as number)
    })
    normalise(state, this.#inputNorm, ids.length)
  }

  #dense(from: number, dense: Dense, to: number, rows: number): void {
    const { at, inputs, outputs, scale, bias } = dense
    const { left, whole } = this.#area
    const { multiply, largest, round, finish } = this.#kernel
    // Row by row: the marks at both ends have a few huge numbers, which must not cost the words their precision.
    const steps: number[] = []
    for (let row = 0; row < rows; row++) {
      const start = from + row * inputs * 4
      const step = largest(start, inputs) / ROUND || 1
      steps.push(step)
      round(start, left + row * inputs * 2, 1, inputs, inputs, 1 / step)
    }
    multiply(left, at, whole, (rows + 1) & ~1, outputs, inputs, outputs)
    steps.forEach((step, row) => {
      finish(whole + row * outputs * 4, to + row * outputs * 4, bias, 1, outputs, outputs, step * scale)
    })
  }

  #attention(layer: Layer, rows: number): void {
    const { left, right, whole, state, query, key, value, mixed, exp, zero } = this.#area
    const { memory, multiply, largest, round, finish, softmax } = this.#kernel
    this.#dense(state, layer.query, query, rows)
    this.#dense(state, layer.key, key, rows)
    this.#dense(state, layer.value, value, rows)
    const padded = (rows + 7) & ~7
    const step = (at: number) => largest(at, rows * WIDTH) / ROUND || 1
    const [queryStep, keyStep, valueStep] = [step(query), step(key), step(value)]
    const scoreStep = ((queryStep * keyStep) / Math.sqrt(HEAD)) * EXP_STEPS
    const values = new Float32Array(memory.buffer, value, rows * WIDTH)
    const turned = new Int16Array(memory.buffer, right, padded * HEAD)
    for (let head = 0; head < HEADS; head++) {
      const from = head * HEAD
      round(query + from * 4, left, rows, HEAD, WIDTH, 1 / queryStep)
      round(key + from * 4, right, rows, HEAD, WIDTH, 1 / keyStep)
      multiply(left, right, whole, (rows + 1) & ~1, padded, HEAD, padded)
      softmax(whole, left, rows, rows, padded, exp, scoreStep, EXP_LAST, SHARE)
      turned.fill(0)
      const factor = 1 / valueStep
      for (let row = 0; row < rows; row++)
        for (let n = 0; n < HEAD; n++)
          turned[n * padded + row] = Math.round((values[row * WIDTH + from + n] as number) * factor)
      multiply(left, right, whole, (rows + 1) & ~1, HEAD, padded, HEAD)
      finish(whole, mixed + from * 4, zero, rows, HEAD, WIDTH, valueStep / SHARE)
    }
  }
}

/** What the shares of one row add up to; times the largest value it stays within 32 bits. */
const SHARE = 32000
const EXP_STEPS = 512
const GELU_REACH = 6
const GELU_STEPS = 2048
const GELU_LAST = 2 * GELU_REACH * GELU_STEPS
const EXP_LAST = 16 * EXP_STEPS

function expTable(): Float32Array {
  // What is past the end is as good as 0.
  return Float32Array.from({ length: EXP_LAST + 1 }, (_, n) =>
    n === EXP_LAST ? 0 : Math.exp(-n / EXP_STEPS),
  )
}

function geluTable(): Float32Array {
  return Float32Array.from({ length: GELU_LAST + 1 }, (_, n) => {
    const x = n / GELU_STEPS - GELU_REACH
    return 0.5 * x * (1 + erf(x / Math.SQRT2))
  })
}

/** Good to seven digits (Abramowitz and Stegun 7.1.26). */
function erf(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x))
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const value = 1 - series * Math.exp(-x * x)
  return x < 0 ? -value : value
}

function floats({ bytes, min, scale }: Tensor): Float32Array {
  return Float32Array.from(bytes, (byte) => min + scale * byte)
}

function normOf(take: (name: string) => Tensor, name: string): Norm {
  return {
    gain: floats(take(`${name}/LayerNorm/batchnorm/mul`)),
    bias: floats(take(`${name}/LayerNorm/batchnorm`)),
  }
}

/** Row by row to column by column. The bytes' zero is a whole number of steps, so nothing is lost by leaving it out. */
function turn({ bytes, min, scale }: Tensor, stored: Int16Array, inputs: number, outputs: number): void {
  const zero = Math.round(-min / scale)
  for (let n = 0; n < outputs; n++)
    for (let k = 0; k < inputs; k++) stored[n * inputs + k] = (bytes[k * outputs + n] as number) - zero
}

function addInto(target: Float32Array, other: Float32Array): void {
  for (let n = 0; n < target.length; n++) target[n] = (target[n] as number) + (other[n] as number)
}

function normalise(values: Float32Array, { gain, bias }: Norm, rows: number): void {
  for (let row = 0; row < rows; row++) {
    const at = row * WIDTH
    let sum = 0
    let squares = 0
    for (let n = at; n < at + WIDTH; n++) {
      const value = values[n] as number
      sum += value
      squares += value * value
    }
    const mean = sum / WIDTH
    const factor = 1 / Math.sqrt(Math.max(squares / WIDTH - mean * mean, 0) + 1e-12)
    for (let n = 0; n < WIDTH; n++)
      values[at + n] =
        ((values[at + n] as number) - mean) * factor * (gain[n] as number) + (bias[n] as number)
  }
}

function meanDirection(state: Float32Array, rows: number): Float32Array {
  const mean = new Float32Array(WIDTH)
  for (let row = 0; row < rows; row++)
    for (let n = 0; n < WIDTH; n++) mean[n] = (mean[n] as number) + (state[row * WIDTH + n] as number)
  let squares = 0
  for (const value of mean) squares += value * value
  const factor = 1 / Math.sqrt(squares || 1)
  return mean.map((value) => value * factor)
}

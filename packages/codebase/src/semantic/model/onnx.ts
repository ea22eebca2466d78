// semantic/model/onnx.ts: runs a sentence encoder of a folder with ONNX Runtime, which is not part of this package: it is large,
// and only users with a model of their own need it. One thread each; the caller chooses how many.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CodebaseError } from '../../errors.ts'
import { unit } from '../vectors.ts'
import type { OnnxFolder } from './onnx-folder.ts'
import { Tokenizer } from './tokenizer.ts'
import { wordPieceRules } from './tokenizer-file.ts'

interface OnnxTensor {
  readonly data: ArrayLike<number>
  readonly dims: readonly number[]
  readonly type: string
}

interface OnnxSession {
  readonly inputNames: readonly string[]
  readonly outputNames: readonly string[]
  run(feeds: Record<string, OnnxTensor>): Promise<Record<string, OnnxTensor>>
}

/** What is used of the runtime; both of its packages have it. */
interface OnnxRuntime {
  readonly env: { readonly wasm: { numThreads?: number } }
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => OnnxTensor
  readonly InferenceSession: {
    create(path: string | Uint8Array, options: object): Promise<OnnxSession>
  }
}

/** Native first, because it is faster. */
const ONNX_RUNTIMES = ['onnxruntime-node', 'onnxruntime-web'] as const

/**
 * Searches beside this package, or in `from` when the user names a folder; never in the searched folder, whose
 * node_modules is not trusted.
 */
async function loadRuntime(from: string | undefined): Promise<{ runtime: OnnxRuntime; provider: string }> {
  const problems: string[] = []
  const require = createRequire(from === undefined ? import.meta.url : join(from, 'package.json'))
  for (const name of ONNX_RUNTIMES)
    try {
      const loaded = (await import(pathToFileURL(require.resolve(name)).href)) as OnnxRuntime & {
        readonly default?: OnnxRuntime
      }
      const runtime = loaded.InferenceSession ? loaded : (loaded.default ?? loaded)
      return { runtime, provider: name === 'onnxruntime-web' ? 'wasm' : 'cpu' }
    } catch (error) {
      problems.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
    }
  throw new CodebaseError(
    'BAD_INPUT',
    `A model folder needs ONNX Runtime, which is not installed (${problems.join('; ')}). Run: npm install onnxruntime-web (or onnxruntime-node, which is faster).`,
    'Install it where plugboard is installed.',
  )
}

/** The inputs that we know how to fill; a model with others is refused. */
const INPUTS = new Set(['input_ids', 'attention_mask', 'token_type_ids'])

export class OnnxEncoder {
  readonly #runtime: OnnxRuntime
  readonly #session: OnnxSession
  readonly #tokenizer: Tokenizer
  readonly #folder: OnnxFolder

  private constructor(runtime: OnnxRuntime, session: OnnxSession, tokenizer: Tokenizer, folder: OnnxFolder) {
    this.#runtime = runtime
    this.#session = session
    this.#tokenizer = tokenizer
    this.#folder = folder
  }

  static async open(folder: OnnxFolder, runtimeFolder?: string): Promise<OnnxEncoder> {
    const tokenizer = new Tokenizer(wordPieceRules(readFileSync(folder.tokenizer, 'utf8'), folder.tokenizer))
    const { runtime, provider } = await loadRuntime(runtimeFolder)
    if (runtime.env?.wasm) runtime.env.wasm.numThreads = 1
    let session: OnnxSession
    try {
      session = await runtime.InferenceSession.create(folder.graph, {
        executionProviders: [provider],
        intraOpNumThreads: 1,
        interOpNumThreads: 1,
        logSeverityLevel: 3,
      })
    } catch (error) {
      throw new CodebaseError(
        'BAD_INPUT',
        `${folder.graph} could not be loaded: ${error instanceof Error ? error.message : String(error)}`,
        'Is it a whole ONNX file?',
        error,
      )
    }
    const strange = session.inputNames.filter((name) => !INPUTS.has(name))
    if (strange.length > 0)
      throw new CodebaseError(
        'BAD_INPUT',
        `${folder.graph} wants ${strange.join(', ')}, which a sentence encoder does not.`,
        'Export the model for feature extraction.',
      )
    return new OnnxEncoder(runtime, session, tokenizer, folder)
  }

  count(text: string): number {
    return this.#tokenizer.count(text)
  }

  /** A vector of length 1. */
  async embed(text: string, purpose: 'chunk' | 'query', tokens: number): Promise<Float32Array> {
    const { queryPrefix, chunkPrefix, maxTokens } = this.#folder
    const prefixed = (purpose === 'query' ? queryPrefix : chunkPrefix) + text
    const ids = this.#tokenizer.encode(prefixed, Math.min(tokens, maxTokens))
    const feeds: Record<string, OnnxTensor> = {}
    for (const name of this.#session.inputNames) feeds[name] = this.#input(name, ids)
    const outputs = await this.#session.run(feeds)
    return this.#pool(outputs, ids.length)
  }

  #input(name: string, ids: readonly number[]): OnnxTensor {
    const value = (id: number) => (name === 'input_ids' ? BigInt(id) : name === 'attention_mask' ? 1n : 0n)
    return new this.#runtime.Tensor('int64', BigInt64Array.from(ids, value), [1, ids.length])
  }

  #pool(outputs: Readonly<Record<string, OnnxTensor>>, rows: number): Float32Array {
    const { dimensions, pooling, graph } = this.#folder
    const pooled = outputs['sentence_embedding']
    const found = pooled ?? outputs['last_hidden_state'] ?? outputs[this.#session.outputNames[0] ?? '']
    const expected = pooled ? dimensions : rows * dimensions
    if (found?.type !== 'float32' || found.data.length !== expected)
      throw new CodebaseError(
        'BAD_INPUT',
        `${graph} answers ${found?.type ?? 'nothing'} [${found?.dims.join(', ') ?? ''}], not ${dimensions} numbers a token.`,
        'Its config.json must belong to it.',
      )
    const sum = new Float32Array(dimensions)
    const last = pooled || pooling === 'cls' ? 1 : rows
    for (let row = 0; row < last; row++)
      for (let n = 0; n < dimensions; n++)
        sum[n] = (sum[n] as number) + (found.data[row * dimensions + n] as number)
    return unit(sum)
  }
}

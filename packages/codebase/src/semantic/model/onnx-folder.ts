// semantic/model/onnx-folder.ts: a folder with a sentence encoder in ONNX, in the layout of sentence-transformers: the graph, its
// tokenizer, and small files that say how words become one vector. It reads them; onnx.ts runs the graph.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CodebaseError } from '../../errors.ts'
import { SEMANTIC_LIMITS } from '../../limits.ts'

export type Pooling = 'mean' | 'cls'

export interface OnnxFolder {
  readonly name: string
  readonly graph: string
  readonly tokenizer: string
  readonly dimensions: number
  readonly pooling: Pooling
  readonly maxTokens: number
  /** Put before a text, as the model was trained. */
  readonly queryPrefix: string
  readonly chunkPrefix: string
}

/** Where exporters put the graph, the likeliest first; 8-bit ones are as good and several times faster. */
const GRAPHS = [
  'model.onnx',
  'onnx/model.onnx',
  'model_quantized.onnx',
  'onnx/model_quantized.onnx',
  'onnx/model_int8.onnx',
] as const
const SMALL_FILES = [
  'tokenizer.json',
  'config.json',
  '1_Pooling/config.json',
  'sentence_bert_config.json',
  'config_sentence_transformers.json',
] as const
const QUERY_PROMPTS = ['query', 's2p_query'] as const
const CHUNK_PROMPTS = ['passage', 'document'] as const

export function readOnnxFolder(folder: string): OnnxFolder {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw bad(`${folder} is not a folder.`)
  const graph = GRAPHS.map((name) => join(folder, name)).find((path) => existsSync(path))
  if (!graph) throw bad(`${folder} has none of ${GRAPHS.join(', ')}.`)
  const tokenizer = join(folder, 'tokenizer.json')
  if (!existsSync(tokenizer)) throw bad(`${folder} has no tokenizer.json.`)
  const config = readJson(folder, 'config.json')
  const pooling = readJson(folder, '1_Pooling/config.json')
  refuseFurtherLayers(folder)
  const prompts = readJson(folder, 'config_sentence_transformers.json')['prompts']
  const dimensions = pooling['word_embedding_dimension'] ?? config['hidden_size'] ?? config['dim']
  if (typeof dimensions !== 'number' || !Number.isInteger(dimensions) || dimensions < 1 || dimensions > 8192)
    throw bad(`${folder} does not say how many numbers a vector has (hidden_size in config.json).`)
  const most =
    readJson(folder, 'sentence_bert_config.json')['max_seq_length'] ?? config['max_position_embeddings']
  return {
    name: basename(folder),
    graph,
    tokenizer,
    dimensions,
    pooling: poolingOf(pooling, folder),
    maxTokens: typeof most === 'number' && most >= 8 ? most : SEMANTIC_LIMITS.modelTokens,
    queryPrefix: promptOf(prompts, QUERY_PROMPTS),
    chunkPrefix: promptOf(prompts, CHUNK_PROMPTS),
  }
}

/** One name for everything the vectors depend on; vectors of another name are never compared with them. */
export async function digestOf(folder: string, { graph }: Pick<OnnxFolder, 'graph'>): Promise<string> {
  const hash = createHash('sha256')
  for (const name of SMALL_FILES) {
    const path = join(folder, name)
    hash.update(`${name}\n`)
    if (existsSync(path)) hash.update(readFileSync(path))
  }
  for (const path of [graph, `${graph}_data`])
    if (existsSync(path))
      await pipeline(createReadStream(path), async (pieces) => {
        for await (const piece of pieces) hash.update(piece as Buffer)
      })
  return hash.digest('hex').slice(0, 16)
}

function poolingOf(config: Readonly<Record<string, unknown>>, folder: string): Pooling {
  const modes = Object.keys(config).filter((key) => key.startsWith('pooling_mode_') && config[key] === true)
  if (modes.length === 0 || (modes.length === 1 && modes[0] === 'pooling_mode_mean_tokens')) return 'mean'
  if (modes.length === 1 && modes[0] === 'pooling_mode_cls_token') return 'cls'
  throw bad(
    `${folder} wants ${modes.join(' and ')}; only the mean of the tokens, or the first, can be taken.`,
  )
}

/** Layers after the graph (a Dense one) would be missing from our vectors. */
function refuseFurtherLayers(folder: string): void {
  const modules = Object.values(readJson(folder, 'modules.json')) as { readonly type?: unknown }[]
  for (const { type } of modules)
    if (typeof type === 'string' && !/\.(Transformer|Pooling|Normalize)$/.test(type))
      throw bad(`${folder} has a layer after its graph (${type}), which is not run here.`)
}

function promptOf(prompts: unknown, names: readonly string[]): string {
  if (typeof prompts !== 'object' || prompts === null) return ''
  for (const name of names) {
    const found = (prompts as Record<string, unknown>)[name]
    if (typeof found === 'string') return found.slice(0, 500)
  }
  return ''
}

function readJson(folder: string, name: string): Readonly<Record<string, unknown>> {
  const path = join(folder, name)
  if (!existsSync(path)) return {}
  try {
    const found: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : {}
  } catch (error) {
    throw new CodebaseError('BAD_INPUT', `${path} is not JSON.`, 'Fetch the model folder again.', error)
  }
}

function bad(message: string): CodebaseError {
  return new CodebaseError(
    'BAD_INPUT',
    message,
    'A model folder holds model.onnx (or onnx/model.onnx), tokenizer.json and config.json, as sentence-transformers exports them.',
  )
}

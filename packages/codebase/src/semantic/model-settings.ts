// semantic/model-settings.ts: which model the user chose, from the environment and the command's flags. Those are the only places: a
// repository that could name an endpoint could have its reader's code sent there.
import { isAbsolute } from 'node:path'
import { CodebaseError } from '../errors.ts'
import type { EmbeddingChoice } from './embedding-choice.ts'

/** What a command line says about the model of the vectors. */
export interface EmbeddingFlags {
  /** A model's folder, `none`, or `built-in`. */
  readonly model?: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * The choice of flags and environment; undefined when they make none. `PLUGBOARD_EMBEDDINGS_MODEL` is a folder, unless
 * `PLUGBOARD_EMBEDDINGS_URL` makes it the name of a model there.
 *
 * @example
 * console.log(embeddingsFrom({})) // undefined
 */
export function embeddingsFrom(env: Environment, flags: EmbeddingFlags = {}): EmbeddingChoice | undefined {
  const {
    PLUGBOARD_EMBEDDINGS_URL: url,
    PLUGBOARD_EMBEDDINGS_MODEL: model,
    PLUGBOARD_EMBEDDINGS_KEY: apiKey,
    PLUGBOARD_EMBEDDINGS_DIMENSIONS: dimensions,
  } = env
  if (flags.model !== undefined) return folderOr(flags.model, env)
  if (!url) return model ? folderOr(model, env) : undefined
  if (!model || !dimensions || !/^\d{1,4}$/.test(dimensions))
    throw new CodebaseError(
      'BAD_INPUT',
      'PLUGBOARD_EMBEDDINGS_URL needs PLUGBOARD_EMBEDDINGS_MODEL and PLUGBOARD_EMBEDDINGS_DIMENSIONS beside it.',
      'Set the model’s name and the number of dimensions of its vectors.',
    )
  return { kind: 'endpoint', url, model, dimensions: Number(dimensions), ...(apiKey && { apiKey }) }
}

function folderOr(model: string, { PLUGBOARD_ONNX_RUNTIME: runtime }: Environment): EmbeddingChoice {
  if (model === 'none' || model === 'built-in') return { kind: model }
  // Relative to where? The searched folder is not trusted, and must not bring the model.
  if (!isAbsolute(model))
    throw new CodebaseError(
      'BAD_INPUT',
      `The model's folder ${JSON.stringify(model)} is not an absolute path.`,
      'Name the whole path in PLUGBOARD_EMBEDDINGS_MODEL.',
    )
  return { kind: 'onnx', folder: model, ...(runtime && { runtime }) }
}

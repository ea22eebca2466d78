// semantic/text-embedder.ts: the model that comes with the install for short texts of a program, such as descriptions of tools. It runs
// on a thread of its own; what the vectors are for, and whether they are kept, is the caller's.
import { Thread } from '../index/threads.ts'
import { MODEL, modelFolder } from './model/weights.ts'
import type { SemanticReply, SemanticRequest } from './worker.ts'

/** Turns texts into vectors of length 1, one at a time. */
export interface TextEmbedder {
  /** Vectors of models with different ids cannot be compared. */
  readonly id: string
  readonly dimensions: number
  embed(text: string): Promise<Float32Array>
  close(): Promise<void>
}

/** Undefined when the model was left out of the install. Its thread starts with the first text. */
export function textEmbedder(): TextEmbedder | undefined {
  if (modelFolder() === undefined) return undefined
  let thread: Thread<SemanticRequest, SemanticReply> | undefined
  return {
    id: MODEL.name,
    dimensions: MODEL.dimensions,
    async embed(text) {
      thread ??= new Thread('semantic/worker')
      const reply = await thread.ask({ do: 'query', text, choice: { kind: 'built-in' } })
      if (reply.type !== 'vector') throw new Error(`The model answered with ${reply.type}.`)
      return reply.vector
    },
    async close() {
      await thread?.close()
    },
  }
}

// traffic-outlines.ts: what a message is, without its content: id, method, name, outcome. Read from a message, or kept in columns for the
// messages that nobody looks at.
import { isObject } from '../json.ts'
import { type Era, META } from '../protocol.ts'

/** A longer method or name is not kept. */
const NAME_CHARS = 200
const NOTHING: Readonly<Record<string, unknown>> = {}
const NOT_KEPT = '(not kept)'

interface Facts {
  readonly id: string | number | undefined
  readonly method: string | undefined
  readonly name: string | undefined
  readonly isModern: boolean
  readonly isError: boolean
  readonly isToolError: boolean
}

/** What a message is. Texts of the message are referred to, never cut: a cut text would hold the whole one in memory. */
export class MessageFacts implements Facts {
  readonly id: string | number | undefined
  readonly method: string | undefined
  readonly name: string | undefined
  readonly isModern: boolean
  readonly isError: boolean
  readonly isToolError: boolean

  constructor(facts: Facts) {
    this.id = facts.id
    this.method = facts.method
    this.name = facts.name
    this.isModern = facts.isModern
    this.isError = facts.isError
    this.isToolError = facts.isToolError
  }

  static of(message: unknown): MessageFacts {
    const { id, method, params, error, result } = isObject(message) ? message : NOTHING
    return new MessageFacts({
      id: typeof id === 'number' ? id : short(id),
      method: short(method),
      name: nameOf(params),
      isModern: isModern(params),
      isError: error !== undefined,
      isToolError: isObject(result) && result.isError === true,
    })
  }

  get era(): Era {
    return this.isModern ? 'modern' : 'legacy'
  }

  outline(): object {
    const { id, method, name } = this
    return {
      jsonrpc: '2.0',
      ...(id !== undefined && { id }),
      ...(method !== undefined && { method, params: { ...(name !== undefined && { name }) } }),
      ...(method === undefined && (this.isError ? { error: NOT_KEPT } : { result: NOT_KEPT })),
    }
  }
}

const MODERN = 1
const ERROR = 2
const TOOL_ERROR = 4

/** The same in columns: on the hot path a message makes no object that the garbage collector would have to carry along. */
export class Outlines {
  readonly #ids: Float64Array
  readonly #flags: Uint8Array
  readonly #textIds: (string | undefined)[]
  readonly #methods: (string | undefined)[]
  readonly #names: (string | undefined)[]

  constructor(places: number) {
    this.#ids = new Float64Array(places)
    this.#flags = new Uint8Array(places)
    this.#textIds = new Array(places)
    this.#methods = new Array(places)
    this.#names = new Array(places)
  }

  set(place: number, message: unknown): void {
    const { id, method, params, error, result } = isObject(message) ? message : NOTHING
    const isNumber = typeof id === 'number'
    this.#ids[place] = isNumber ? id : Number.NaN
    this.#textIds[place] = isNumber ? undefined : short(id)
    this.#methods[place] = method === undefined ? undefined : short(method)
    this.#names[place] = params === undefined ? undefined : nameOf(params)
    let flags = error === undefined ? 0 : ERROR
    if (params !== undefined && isModern(params)) flags |= MODERN
    if (isObject(result) && result.isError === true) flags |= TOOL_ERROR
    this.#flags[place] = flags
  }

  at(place: number): MessageFacts {
    const id = this.#ids[place] ?? Number.NaN
    const flags = this.#flags[place] ?? 0
    return new MessageFacts({
      id: Number.isNaN(id) ? this.#textIds[place] : id,
      method: this.#methods[place],
      name: this.#names[place],
      isModern: (flags & MODERN) !== 0,
      isError: (flags & ERROR) !== 0,
      isToolError: (flags & TOOL_ERROR) !== 0,
    })
  }
}

function nameOf(params: unknown): string | undefined {
  return isObject(params) ? short(params.name ?? params.uri) : undefined
}

function isModern(params: unknown): boolean {
  if (!isObject(params)) return false
  const { _meta: meta } = params
  return isObject(meta) && meta[META.protocolVersion] !== undefined
}

function short(text: unknown): string | undefined {
  if (typeof text !== 'string') return undefined
  return text.length <= NAME_CHARS ? text : '(too long)'
}

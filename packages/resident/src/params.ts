// params.ts: what the messages of the control protocol may carry, checked where they arrive. What a schema does not name is
// dropped, so nothing that was not checked reaches a board.
import { isAbsolute } from 'node:path'
import type { RawAnswer, SamplingResult, ServerInput } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import * as z from 'zod/mini'
import type { HelloParams, OpenParams } from './protocol.ts'

/** Longer ones are no names of anything. */
const NAME_CHARS = 4096
const TEXT_CHARS = 1024 * 1024
/** The longest timer of Node. */
const MAX_MS = 2 ** 31 - 1

const isText = (value: unknown) =>
  typeof value === 'string' && value.length <= TEXT_CHARS && !value.includes('\0')

export const name = z
  .string('expected a text')
  .check(z.minLength(1, 'is empty'), z.maxLength(NAME_CHARS, 'is too long'))
export const text = z.custom<string>(isText, 'expected a text')
export const names = z.readonly(z.array(name, 'expected a list of texts'))
export const milliseconds = z
  .number('expected milliseconds')
  .check(z.gte(0, 'is below 0'), z.lte(MAX_MS, `is above ${MAX_MS}`))
/** Values of any kind by name. The values of a server's arguments are for the tool's own schema to judge. */
export const object = z.custom<Readonly<Record<string, unknown>>>(isObject, 'expected an object')
/** A server for this client alone; the board judges it as an entry of a file. */
export const serverInput = z.custom<ServerInput>(isObject, 'expected an object')
export const texts = z.custom<Readonly<Record<string, string>>>(
  (value) => isObject(value) && Object.values(value).every(isText),
  'expected an object of texts',
)
const choices = z.custom<Readonly<Record<string, boolean>>>(
  (value) => isObject(value) && Object.values(value).every((one) => typeof one === 'boolean'),
  'expected an object of true and false',
)
const flag = z.boolean('expected true or false')
const folder = z.custom<string>((value) => isText(value) && isAbsolute(value), 'expected an absolute path')
export const folders = z.readonly(z.array(folder, 'expected a list of folders'))

/** How a call is made. JSON has no infinity: `null` stands for no limit. */
export const callContext = z.object(
  {
    caller: z.exactOptional(z.enum(['user', 'agent', 'client'])),
    client: z.exactOptional(name),
    timeoutMs: z.exactOptional(milliseconds),
    totalMs: z.exactOptional(milliseconds),
    maxResultChars: z.exactOptional(z.nullable(z.number('expected a number').check(z.gte(0, 'is below 0')))),
    keepAnswer: z.exactOptional(flag),
    detachable: z.exactOptional(flag),
  },
  'expected an object',
)

/** `protocol` decides what may follow; what an older or newer client sends beside it is not judged. */
export const hello: z.ZodMiniType<Pick<HelloParams, 'protocol' | 'token'>> = z.object({
  protocol: z.number('expected a number'),
  token: name,
})

export const open: z.ZodMiniType<OpenParams> = z.object({
  cwd: folder,
  env: texts,
  mcpConfig: z.exactOptional(z.readonly(z.array(z.string('expected a text')))),
  strict: z.exactOptional(flag),
  approveProject: z.exactOptional(flag),
  builtins: z.exactOptional(choices),
  servers: z.exactOptional(object),
  timeoutMs: z.exactOptional(milliseconds),
  caller: z.enum(['user', 'agent'], 'expected "user" or "agent"'),
  watch: z.exactOptional(flag),
  asks: z.object(
    { elicit: z.exactOptional(flag), ask: z.exactOptional(flag), sample: z.exactOptional(flag) },
    'expected an object',
  ),
  confirms: z.exactOptional(z.enum(['client', 'elicit', 'deny'], 'expected "client", "elicit" or "deny"')),
})

/** For `plugboard ui`. */
export const page = z.object({ cwd: folder, env: texts })

const count = z.number('expected a number').check(z.gte(0, 'is below 0'))

/** For `plugboard trace`. */
export const traffic = z.object({ after: count, limit: count, messages: flag })

export const mcp = z.object({ token: name, protocol: z.number('expected a number'), open })

export const leave = z.object({ why: z.string('expected a text').check(z.maxLength(200, 'is too long')) })

export const events = z.object({ types: names })

/** What a terminal may answer: anything else is no consent. */
export const permissionAnswer = z.enum(['once', 'session', 'always', 'no'])
export const consentAnswer = z.enum(['once', 'session', 'no'])
export const elicitAnswer: z.ZodMiniType<RawAnswer> = z.object({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.exactOptional(z.unknown()),
  done: z.exactOptional(flag),
})
export const sampleAnswer: z.ZodMiniType<SamplingResult> = z.object({
  role: z.literal('assistant'),
  content: z.unknown(),
  model: text,
  stopReason: z.exactOptional(text),
  tokens: z.exactOptional(z.number()),
})

/** The parameters as the schema describes them, or an error that says which one is wrong. */
export function checked<T>(method: string, schema: z.ZodMiniType<T>, params: unknown): T {
  const parsed = schema.safeParse(params ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue?.path.map(String).join('.')
  throw new InvalidInput(
    `${method}: ${where ? `"${where}": ` : ''}${issue?.message ?? 'the parameters are wrong'}.`,
    {
      hint: 'The client and the resident board may be of different versions; `plugboard down` ends the board.',
    },
  )
}

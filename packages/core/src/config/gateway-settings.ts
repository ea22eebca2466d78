// gateway-settings.ts: the keys of a settings file that are about `plugboard serve`: what it takes from clients, how it shows
// single tools, and the sets of tools that it can serve.
import * as z from 'zod/mini'

/** How a served board serves. Sizes are counts, times are milliseconds. */
export interface GatewaySettings {
  readonly limits?: {
    readonly sessions?: number | undefined
    readonly sessionsPerOwner?: number | undefined
    readonly streams?: number | undefined
    readonly streamsPerOwner?: number | undefined
    readonly listens?: number | undefined
    readonly listensPerOwner?: number | undefined
    readonly questions?: number | undefined
    readonly questionsPerOwner?: number | undefined
  }
  /** Every tool takes `_select`, a JMESPath expression that says which part of its result is wanted. */
  readonly select?: boolean | undefined
  readonly drainMs?: number | undefined
  readonly sessionIdleMs?: number | undefined
  readonly sessionMaxMs?: number | undefined
}

/** How one tool is shown to the clients of a served board. Permissions, hooks and the tool lock see the tool itself. */
export interface ToolSettings {
  readonly name?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly annotations?: Readonly<Record<string, boolean | string>> | undefined
  readonly hidden?: boolean | undefined
  /** Its result is never kept back, however large it is. */
  readonly result?: 'whole' | undefined
}

const count = z.optional(z.int('expected a whole number').check(z.gte(1), z.lte(1_000_000)))
const milliseconds = z.optional(z.int('expected milliseconds').check(z.gte(0), z.lte(2 ** 31 - 1)))
export const gateway = z.strictObject(
  {
    limits: z.optional(
      z.strictObject({
        sessions: count,
        sessionsPerOwner: count,
        streams: count,
        streamsPerOwner: count,
        listens: count,
        listensPerOwner: count,
        questions: count,
        questionsPerOwner: count,
      }),
    ),
    select: z.optional(z.boolean('expected true or false')),
    drainMs: milliseconds,
    sessionIdleMs: milliseconds,
    sessionMaxMs: z.optional(z.int('expected milliseconds').check(z.gte(1000))),
  },
  'expected {"limits"?: …, "select"?: …, "drainMs"?: …, "sessionIdleMs"?: …, "sessionMaxMs"?: …}',
)
const text = z.string('expected a string')
const hint = z.optional(z.boolean('expected true or false'))
export const tools = z.record(
  z.string(),
  z.strictObject(
    {
      name: z.optional(
        text.check(z.regex(/^[A-Za-z0-9_.-]{1,64}$/, 'expected up to 64 letters, digits, "_", "-" or "."')),
      ),
      title: z.optional(text),
      description: z.optional(text),
      annotations: z.optional(
        z.strictObject(
          {
            title: z.optional(text),
            readOnlyHint: hint,
            destructiveHint: hint,
            idempotentHint: hint,
            openWorldHint: hint,
          },
          'expected {"readOnlyHint"?: …, "destructiveHint"?: …, …}',
        ),
      ),
      hidden: z.optional(z.boolean('expected true or false')),
      result: z.optional(z.literal('whole', 'expected "whole"')),
    },
    'expected {"name"?: …, "title"?: …, "description"?: …, "annotations"?: …, "hidden"?: …, "result"?: "whole"}',
  ),
  'expected {"server.tool": {…}}',
)
export const profiles = z.record(
  z.string(),
  z.array(text, 'expected a list of patterns'),
  'expected {"NAME": ["server.tool", …]}',
)

// schemas.ts: what each tool takes and gives, as Zod, so that the published JSON Schema and the check are one thing.
// Loaded with the protocol, not with the package.
import { z } from 'zod'
import { FILE_LIMITS, SEARCH_LIMITS } from './limits.ts'
import { nearestName } from './nearest-name.ts'
import { quote } from './root.ts'

const globs = z.union([z.string(), z.array(z.string()).max(50)])
const filePath = z
  .string()
  .min(1)
  .max(FILE_LIMITS.pathChars)
  .describe('Path of the file, relative to the root.')

/** A number above the largest useful one is lowered to it, not refused. */
const count = (fallback: number, most: number, what: string) =>
  z
    .number()
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .default(fallback)
    .describe(`${what} (default ${fallback}, at most ${most}).`)

/** Only these names: a misspelled argument is an error, not ignored. */
const named = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownArgument(key, Object.keys(shape))).join(' ')
        : undefined,
  })

function unknownArgument(given: string, known: readonly string[]): string {
  const near = nearestName(given, known)
  const way = near === undefined ? `There is ${known.join(', ')}.` : `Did you mean ${near}?`
  return `There is no argument ${quote(given)}. ${way}`
}

export const INPUTS = {
  search_code: named({
    query: z.string().describe('The text to look for; a regular expression when regex is true.'),
    max_results: count(SEARCH_LIMITS.resultsDefault, SEARCH_LIMITS.resultsMax, 'Matching lines to return'),
    regex: z.boolean().default(false).describe('Read the query as a regular expression (Rust syntax).'),
    case_sensitive: z.boolean().default(true).describe('Tell upper and lower case apart.'),
    glob: globs.optional().describe('Only files whose path matches, e.g. "*.ts" or "!**/test/**".'),
    path: z.string().optional().describe('Only this folder or file, relative to the root.'),
    context_lines: z
      .number()
      .int()
      .min(0)
      .max(SEARCH_LIMITS.contextLinesMax)
      .default(0)
      .describe('Lines to show around each match.'),
  }),
  search_by_embedding: named({
    query: z.string().describe('What the code does, in plain words.'),
    max_results: count(SEARCH_LIMITS.chunksDefault, SEARCH_LIMITS.chunksMax, 'Chunks to return'),
    mode: z
      .enum(['hybrid', 'vector', 'text'])
      .default('hybrid')
      .describe('Rank by words and meaning together, or by one of them.'),
    language: z.string().optional().describe('Only this language, e.g. "python".'),
    path: z.string().optional().describe('Only files in this folder, relative to the root.'),
  }),
  list_directory: named({
    path: z.string().default('.').describe('The folder, relative to the root; "." is the root.'),
    depth: z
      .number()
      .int()
      .min(1)
      .max(FILE_LIMITS.depthMax)
      .default(1)
      .describe('How many levels to list; below the first, ignored files are left out.'),
    glob: globs.optional().describe('Only files whose path matches.'),
  }),
  read_file: named({
    file_path: filePath,
    start_line: z.number().int().min(1).optional().describe('First line to read, 1-based.'),
    end_line: z.number().int().min(1).optional().describe('Last line to read, inclusive.'),
  }),
  chunk_file: named({ file_path: filePath }),
  chunk_files: named({
    file_paths: z
      .array(filePath)
      .min(1)
      .max(FILE_LIMITS.filesPerCall)
      .describe('Paths of the files, relative to the root.'),
  }),
} as const

const chunk = z.object({
  start_line: z.number().int(),
  end_line: z.number().int(),
  kind: z.string(),
  name: z.string().optional(),
  within: z.array(z.string()).optional(),
  language: z.string(),
  text: z.string(),
})

const fileChunks = z.object({ file_path: z.string(), language: z.string(), chunks: z.array(chunk) })

export const OUTPUTS = {
  search_code: z.object({
    matches: z.array(
      z.object({
        file_path: z.string(),
        line: z.number().int(),
        text: z.string(),
        before: z.array(z.string()).optional(),
        after: z.array(z.string()).optional(),
        note: z.enum(['cut', 'not utf-8']).optional(),
      }),
    ),
    truncated: z.boolean(),
    source: z.enum(['index', 'scan']),
    files_read: z.number().int().optional(),
    notes: z.array(z.string()),
  }),
  search_by_embedding: z.object({
    results: z.array(chunk.extend({ file_path: z.string(), score: z.number() })),
    mode: z.enum(['hybrid', 'vector', 'text']),
    model: z.string().nullable(),
    coverage: z.object({
      files: z.number().int(),
      files_indexed: z.number().int(),
      chunks: z.number().int(),
      chunks_with_vectors: z.number().int(),
    }),
    notes: z.array(z.string()),
  }),
  list_directory: z.object({
    path: z.string(),
    entries: z.array(z.object({ path: z.string(), kind: z.enum(['file', 'directory', 'symlink', 'other']) })),
    truncated: z.boolean(),
  }),
  read_file: z.object({
    file_path: z.string(),
    text: z.string(),
    start_line: z.number().int(),
    end_line: z.number().int(),
    total_lines: z.number().int().optional(),
    size: z.number().int(),
    encoding: z.enum(['utf-8', 'utf-16le', 'utf-16be']),
    truncated: z.boolean(),
  }),
  chunk_file: fileChunks,
  chunk_files: z.object({
    files: z.array(fileChunks),
    errors: z.array(z.object({ file_path: z.string(), code: z.string(), message: z.string() })),
  }),
} as const

export type ToolName = keyof typeof INPUTS

/** For callers that want the protocol's own error for wrong arguments: what is wrong with them, or undefined. */
export function badArguments(message: object): string | undefined {
  const { method, params } = message as { method?: unknown; params?: { name?: unknown; arguments?: unknown } }
  if (method !== 'tools/call' || typeof params?.name !== 'string' || !Object.hasOwn(INPUTS, params.name))
    return undefined
  const checked = INPUTS[params.name as ToolName].safeParse(params.arguments ?? {})
  if (checked.success) return undefined
  const faults = checked.error.issues.map(
    ({ path, message: text }) => `${path.join('.') || 'arguments'}: ${text}`,
  )
  return `Invalid arguments for ${params.name}: ${faults.join('; ')}`
}

// mcp.ts: the codebase as an MCP server: six tools, two resources, a file template. It holds no state between requests,
// so one is made for each connection or request and all share the same Codebase.
import type { McpServer, ServerContext, StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { Codebase } from './codebase.ts'
import { CodebaseError } from './errors.ts'
import { SEARCH_LIMITS } from './limits.ts'
import { INPUTS, OUTPUTS, type ToolName } from './schemas.ts'
import { SERVICE, VERSION } from './version.ts'

type Input<Name extends ToolName> = z.output<(typeof INPUTS)[Name]>
type Output<Name extends ToolName> = z.input<(typeof OUTPUTS)[Name]>

interface ToolSpec<Name extends ToolName> {
  readonly title: string
  readonly description: string
  readonly run: (code: Codebase, input: Input<Name>, signal: AbortSignal) => Promise<Output<Name>>
  /** What a model reads; the structured result carries the same facts for programs. */
  readonly show: (output: Output<Name>) => string
  /** The same for callers without structured results: one JSON value, and the sentences beside it. */
  readonly json: (output: Output<Name>) => { readonly value: unknown; readonly notes: readonly string[] }
}

const list = (glob: string | readonly string[] | undefined) => (glob === undefined ? [] : [glob].flat())

const MORE_LISTED = 'There is more than was listed.'
/** Structured results came after this version; such a client, and a plain JSON-RPC caller, reads JSON in the text. */
export const UNSTRUCTURED_VERSION = '2024-11-05'

const TOOLS: { readonly [Name in ToolName]: ToolSpec<Name> } = {
  search_code: {
    title: 'Search code',
    description:
      'Finds every line that contains a text (or matches a regular expression) in the files of this folder, honouring .gitignore. Exact; use it when you know a name or a phrase.',
    run: async (code, input, signal) => {
      const answer = await code.searchCode(
        {
          query: input.query,
          regex: input.regex,
          caseSensitive: input.case_sensitive,
          glob: list(input.glob),
          path: input.path,
          contextLines: input.context_lines,
          maxResults: Math.min(input.max_results, SEARCH_LIMITS.resultsMax),
        },
        signal,
      )
      const notes = [...answer.notes]
      if (answer.truncated) notes.push('There are more matches than were returned.')
      if (answer.timedOut) notes.push('The search ran out of time; the answer is not complete.')
      return {
        matches: answer.matches.map((match) => ({
          ...match,
          ...(match.before && { before: [...match.before] }),
          ...(match.after && { after: [...match.after] }),
        })) as Output<'search_code'>['matches'],
        truncated: answer.truncated || answer.timedOut,
        source: answer.source,
        ...(answer.filesRead !== undefined && { files_read: answer.filesRead }),
        notes,
      }
    },
    show: ({ matches, notes }) => {
      if (matches.length === 0) return withNotes('No match.', notes)
      const lines = matches.flatMap((match) => [
        ...(match.before ?? []).map(
          (text, n, all) => `${match.file_path}-${match.line - all.length + n}-${text}`,
        ),
        `${match.file_path}:${match.line}:${match.text}`,
        ...(match.after ?? []).map((text, n) => `${match.file_path}-${match.line + n + 1}-${text}`),
      ])
      return withNotes(lines.join('\n'), notes)
    },
    json: ({ matches, notes }) => ({
      value: matches.map(({ file_path, line, text, ...rest }) => ({
        file_path,
        line_number: line,
        line: text,
        ...rest,
      })),
      notes,
    }),
  },
  search_by_embedding: {
    title: 'Search by meaning',
    description:
      'Finds the functions, classes and sections that fit a question in plain words, by words and by meaning together. Use it when you do not know what the code calls a thing.',
    run: (code, input, signal) =>
      code.semanticSearch(
        {
          query: input.query,
          mode: input.mode,
          language: input.language,
          path: input.path,
          maxResults: Math.min(input.max_results, SEARCH_LIMITS.chunksMax),
        },
        signal,
      ),
    show: ({ results, notes }) =>
      withNotes(
        results.length === 0
          ? 'Nothing found.'
          : results
              .map(
                (hit) =>
                  `${hit.file_path}:${hit.start_line}-${hit.end_line} ${titleOf(hit)}\n${hit.text.trimEnd()}`,
              )
              .join('\n\n'),
        notes,
      ),
    json: ({ results, notes }) => ({
      value: results.map((hit) => ({ ...hit, line_number: hit.start_line })),
      notes,
    }),
  },
  list_directory: {
    title: 'List a folder',
    description: 'Lists the files and folders in a folder of this codebase.',
    run: async (code, input, signal) => {
      const found = await code.list(input.path, { depth: input.depth, glob: list(input.glob), signal })
      return { ...found, entries: [...found.entries] }
    },
    show: ({ entries, truncated }) => {
      const lines = entries.map(({ path, kind }) => (kind === 'directory' ? `${path}/` : path))
      return withNotes(lines.join('\n') || 'The folder is empty.', truncated ? [MORE_LISTED] : [])
    },
    json: ({ entries, truncated }) => ({ value: entries, notes: truncated ? [MORE_LISTED] : [] }),
  },
  read_file: {
    title: 'Read a file',
    description: 'Reads a text file of this codebase, whole or from start_line to end_line.',
    run: (code, input) => code.read(input.file_path, { start: input.start_line, end: input.end_line }),
    show: ({ text, truncated, end_line }) =>
      truncated ? withNotes(text, [`Cut after line ${end_line}; ask for the lines after it.`]) : text,
    json: (value) => ({ value, notes: [] }),
  },
  chunk_file: {
    title: 'Chunk a file',
    description: 'Splits a file into its functions, classes and blocks, with the lines each one spans.',
    run: async (code, input) => plainChunks(await code.chunkFile(input.file_path)),
    show: showChunks,
    json: (file) => ({ value: flatChunks(file), notes: [] }),
  },
  chunk_files: {
    title: 'Chunk several files',
    description:
      'Splits several files into their functions, classes and blocks; a file that cannot be read is reported beside the others.',
    run: async (code, input, signal) => {
      const files: Output<'chunk_file'>[] = []
      const errors: { file_path: string; code: string; message: string }[] = []
      for (const path of input.file_paths) {
        signal.throwIfAborted()
        try {
          files.push(plainChunks(await code.chunkFile(path)))
        } catch (error) {
          if (!(error instanceof CodebaseError)) throw error
          errors.push({ file_path: path, code: error.code, message: error.message })
        }
      }
      return { files, errors }
    },
    show: ({ files, errors }) =>
      [...files.map(showChunks), ...errors.map(({ message }) => message)].join('\n\n') || 'Nothing to show.',
    json: ({ files, errors }) => ({
      value: files.flatMap(flatChunks),
      notes: errors.map(({ message }) => message),
    }),
  },
}

export const TOOL_NAMES = Object.keys(TOOLS) as readonly ToolName[]

/** One server over the shared codebase. */
export async function buildServer(code: Codebase): Promise<McpServer> {
  const sdk = await import('@modelcontextprotocol/server')
  const server = new sdk.McpServer(
    { name: SERVICE, version: VERSION },
    {
      capabilities: { tools: {}, resources: {}, logging: {} },
      instructions:
        'Searches one folder of code. search_code finds exact text; search_by_embedding answers questions in plain words; read_file and list_directory look closer. Paths are relative to the root.',
    },
  )
  for (const name of TOOL_NAMES) register(server, code, name)
  registerResources(server, code, sdk)
  return server
}

function registerResources(
  server: McpServer,
  code: Codebase,
  { ProtocolError, ProtocolErrorCode, ResourceTemplate }: typeof import('@modelcontextprotocol/server'),
): void {
  server.registerResource(
    'search',
    'codebase://search',
    {
      title: 'How this folder can be searched',
      description: 'What is indexed, by which model, and how far the index is.',
      mimeType: 'application/json',
    },
    async (uri) => ({
      contents: [
        { uri: uri.href, mimeType: 'application/json', text: JSON.stringify(await code.status(), null, 2) },
      ],
    }),
  )
  server.registerResource(
    'files',
    'codebase://files',
    {
      title: 'Files',
      description: 'Every file that search sees: a JSON array of paths relative to the root.',
      mimeType: 'application/json',
    },
    async (uri) => ({
      contents: [
        { uri: uri.href, mimeType: 'application/json', text: JSON.stringify(await code.fileList(), null, 1) },
      ],
    }),
  )
  server.registerResource(
    'file',
    new ResourceTemplate('codebase://file/{+path}', { list: undefined }),
    {
      title: 'A file',
      description: 'The text of one file, by its path relative to the root.',
      mimeType: 'text/plain',
    },
    async (uri, { path }) => {
      const wanted = decodePath(typeof path === 'string' ? path : (path?.[0] ?? ''))
      const { text } = await code.readUngated(wanted).catch((error: unknown) => {
        // A file that cannot be read is an error of the request; only a failing disk is one of the server.
        if (!(error instanceof CodebaseError) || error.code === 'IO' || error.code === 'ROOT_GONE')
          throw error
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, error.message, { uri: uri.href })
      })
      return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] }
    },
  )
}

function register<Name extends ToolName>(server: McpServer, code: Codebase, name: Name): void {
  const spec: ToolSpec<Name> = TOOLS[name]
  // The union of all schemas is too wide for the SDK's overloads; this is the part it needs.
  const inputSchema = INPUTS[name] as StandardSchemaWithJSON
  const outputSchema = OUTPUTS[name] as StandardSchemaWithJSON
  server.registerTool(
    name as string,
    {
      title: spec.title,
      description: spec.description,
      inputSchema,
      outputSchema,
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    },
    async (input, context) => {
      const told = tellProgress(code, context)
      try {
        // The SDK has parsed the arguments with this very schema.
        const output = await spec.run(code, input as Input<Name>, context.mcpReq.signal)
        const isOld = server.server.getNegotiatedProtocolVersion() === UNSTRUCTURED_VERSION
        return {
          content: (isOld ? jsonTexts(spec.json(output)) : [spec.show(output)]).map((text) => ({
            type: 'text' as const,
            text,
          })),
          structuredContent: output as Record<string, unknown>,
        }
      } catch (error) {
        if (!(error instanceof CodebaseError)) throw error
        const hint = error.hint ? ` ${error.hint}` : ''
        return {
          isError: true,
          content: [{ type: 'text' as const, text: `${error.code}: ${error.message}${hint}` }],
        }
      } finally {
        await told()
        const problem = await code.indexProblem()
        // A client that did not ask for messages gets none; one that is gone needs none.
        if (problem !== undefined)
          await context.mcpReq.log('warning', `No index: ${problem}`, SERVICE).catch(() => undefined)
      }
    },
  )
}

/** While the index is being built, a call that asked for progress gets it. The returned function ends that. */
function tellProgress(code: Codebase, { mcpReq }: ServerContext): () => Promise<void> {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return async () => undefined
  let last = -1
  let sent: Promise<unknown> = Promise.resolve()
  const unwatch = code.watchProgress(({ part, done, of }) => {
    // One step in a hundred is enough, and the protocol wants each to be further than the one before.
    if (part !== 'text' || done < last + Math.max(1, of / 100)) return
    last = done
    const params = { progressToken, progress: done, total: of, message: `Indexing: ${done} of ${of} files.` }
    sent = Promise.all([sent, mcpReq.notify({ method: 'notifications/progress', params })])
    // A client that is gone does not need it.
    sent.catch(() => undefined)
  })
  return async () => {
    unwatch()
    await sent.catch(() => undefined)
  }
}

function plainChunks(found: Awaited<ReturnType<Codebase['chunkFile']>>): Output<'chunk_file'> {
  return {
    ...found,
    chunks: found.chunks.map(({ within, ...chunk }) => ({
      ...chunk,
      ...(within && { within: [...within] }),
    })),
  }
}

function showChunks({ file_path, chunks }: Output<'chunk_file'>): string {
  if (chunks.length === 0) return `${file_path} is empty.`
  return chunks
    .map(
      (chunk) =>
        `${file_path}:${chunk.start_line}-${chunk.end_line} ${titleOf(chunk)}\n${chunk.text.trimEnd()}`,
    )
    .join('\n\n')
}

const flatChunks = ({ file_path, chunks }: Output<'chunk_file'>) =>
  chunks.map((chunk) => ({ file_path, line_number: chunk.start_line, ...chunk }))

/** The JSON alone comes first, so that a program can parse it; notes for a reader come after it. */
const jsonTexts = ({ value, notes }: { value: unknown; notes: readonly string[] }) => [
  JSON.stringify(value),
  ...(notes.length > 0 ? [notes.join('\n')] : []),
]

const titleOf = (chunk: { kind: string; name?: string | undefined; within?: string[] | undefined }) =>
  [chunk.kind, [...(chunk.within ?? []), ...(chunk.name ? [chunk.name] : [])].join('.')]
    .filter(Boolean)
    .join(' ')

const withNotes = (text: string, notes: readonly string[]) =>
  notes.length === 0 ? text : `${text}\n\n${notes.map((note) => `(${note})`).join('\n')}`

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    // A stray % is part of the name.
    return path
  }
}

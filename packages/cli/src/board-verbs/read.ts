// read: one resource. Text goes to stdout; bytes go to a file, unless -o names where.
import { join } from 'node:path'
import type { ResourceContent } from '@plugboard/core'
import { IoError } from '@plugboard/core/errors'
import { identifyBytes, resultFiles, type SavedFile } from '@plugboard/core/tools'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { forStdout } from '../shared/one-line.ts'
import { writeTarget } from '../shared/output-file.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { writeBytes } from '../streams.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server = '', uri = ''] = words(invocation, ['SERVER', 'URI'])
  const { output } = invocation
  return withBoard(
    invocation,
    async ({ board, signal }) => {
      const timeoutMs = timeoutOption(invocation)
      const contents = await board.read(server, uri, {
        caller: 'user',
        signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      const target = invocation.option('output')
      const parts = contents.map((content) => ({ content, bytes: bytesOf(content) }))
      if (target === '-') {
        for (const { bytes } of parts) writeBytes(bytes)
        return EXIT.done
      }
      const saved = new Map<ResourceContent, SavedFile>()
      for (const [at, { content, bytes }] of parts.entries())
        if (target !== undefined) saved.set(content, await write(target, at, content, bytes, invocation))
        else if ('blob' in content)
          saved.set(content, await keep(board.stateDir, invocation, server, content, bytes))
      output.result(
        { server, uri, contents: contents.map((content) => row(content, saved.get(content))) },
        () =>
          contents
            .flatMap((content) => ('text' in content && !saved.has(content) ? [forStdout(content.text)] : []))
            .join('\n'),
      )
      if (!output.json)
        for (const file of saved.values()) output.note(`${file.path} (${file.mimeType}, ${file.bytes} bytes)`)
      return EXIT.done
    },
    userPromptOptions(invocation),
  )
}

function row(content: ResourceContent, file: SavedFile | undefined) {
  const { uri, mimeType } = content
  return {
    uri,
    ...(mimeType !== undefined && { mimeType }),
    ...('text' in content && { text: content.text }),
    ...(file && { savedFile: file }),
  }
}

function bytesOf(content: ResourceContent): Buffer {
  if ('text' in content) return Buffer.from(content.text)
  // Buffer.from skips what is not base64; a resource that loses bytes that way is useless.
  if (!/^[A-Za-z0-9+/_\-\s]*={0,2}\s*$/.test(content.blob))
    throw new IoError('The server sent bytes that are not base64.', { stage: 'call' })
  return Buffer.from(content.blob, 'base64')
}

/** Among the results, where other files from servers are kept. */
function keep(
  stateDir: string,
  { host }: Invocation,
  server: string,
  content: ResourceContent,
  bytes: Buffer,
): Promise<SavedFile> {
  const { mimeType, extension } = identifyBytes(bytes, content.mimeType)
  const files = resultFiles({ folder: join(stateDir, 'results'), host, server, tool: 'resource' })
  return files.save(bytes, mimeType, extension)
}

async function write(
  target: string,
  at: number,
  content: ResourceContent,
  bytes: Buffer,
  invocation: Invocation,
): Promise<SavedFile> {
  const path = await writeTarget(at === 0 ? target : `${target}-${at + 1}`, bytes, invocation)
  return { path, mimeType: content.mimeType ?? 'application/octet-stream', bytes: bytes.length }
}

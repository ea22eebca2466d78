// stdin.ts: all of standard input or of a file that the user named, up to a limit.
import { resolve } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'

export async function readStdin(maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of process.stdin) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBytes)
      throw new InvalidInput(`Standard input holds more than ${Math.round(maxBytes / 1024 / 1024)} MiB.`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Reads the file of `key=@file`, from the folder of the command; `-` is standard input. */
export function argumentFiles(cwd: string, maxBytes: number): (path: string) => Promise<Uint8Array> {
  return async (path) => {
    if (path === '-') return Buffer.from(await readStdin(maxBytes), 'utf8')
    const file = await lazyModule('node:fs').promises.open(resolve(cwd, path))
    try {
      const { size } = await file.stat()
      if (size > maxBytes)
        throw new InvalidInput(
          `${path} has more than ${Math.round(maxBytes / 1024 / 1024)} MiB, too much for an argument.`,
        )
      return await file.readFile()
    } finally {
      await file.close()
    }
  }
}

// stdin.ts: all of standard input, up to a limit.
import { InvalidInput } from '@plugboard/core/errors'

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

// read-token.ts: the token as the running process wrote it.
import { lazyModule } from '@plugboard/core/lazy'
import type { ResidentPlace } from '../socket-paths.ts'

export function readToken({ token }: ResidentPlace): string | undefined {
  try {
    return lazyModule('node:fs').readFileSync(token, 'utf8')
  } catch {
    // It left a moment ago.
    return undefined
  }
}

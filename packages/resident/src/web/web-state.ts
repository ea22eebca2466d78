// web-state.ts: what a page needs to find the next process after this one ended unexpectedly: the port, the key of its
// session and the folders of its boards. One private file beside the token; an orderly end removes it.
import { randomBytes } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '@plugboard/core/files'
import { isObject } from '@plugboard/core/json'
import type { ResidentPlace } from '../socket-paths.ts'
import { WEB_LIMITS } from './web-limits.ts'

export interface WebState {
  readonly port: number
  readonly key: string
  /** The folder of each board that a page shows, by its id. The environment of the terminal is not written down. */
  readonly boards: Readonly<Record<string, string>>
}

const fileOf = ({ folder }: ResidentPlace) => join(folder, 'web.json')

export function freshWebState(): WebState {
  return { port: 0, key: randomBytes(32).toString('hex'), boards: {} }
}

/** Undefined when there is none that can be used. */
export function readWebState(place: ResidentPlace): WebState | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(fileOf(place), 'utf8'))
    if (!isObject(value) || !Number.isSafeInteger(value.port) || !isObject(value.boards)) return undefined
    if (typeof value.key !== 'string' || !/^[0-9a-f]{64}$/.test(value.key)) return undefined
    const boards = Object.entries(value.boards).filter(
      (one): one is [string, string] => typeof one[1] === 'string',
    )
    return { port: Number(value.port), key: value.key, boards: Object.fromEntries(boards) }
  } catch {
    // Missing or damaged: pages get a new address from `plugboard ui`.
    return undefined
  }
}

export async function writeWebState(place: ResidentPlace, state: WebState): Promise<void> {
  const boards = Object.fromEntries(Object.entries(state.boards).slice(-WEB_LIMITS.boards))
  await writeFileAtomic(fileOf(place), JSON.stringify({ ...state, boards }), { mode: 0o600 })
}

export function removeWebState(place: ResidentPlace): void {
  rmSync(fileOf(place), { force: true })
}

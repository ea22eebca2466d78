// board-only.mjs: opening a board for a benchmark, without loading what the other contenders need.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
export const core = (path) => import(join(root, 'packages/core/dist', path))
export const ECHO = fileURLToPath(new URL('echo-server.mjs', import.meta.url))

export const configured = (name, entry) => ({
  name,
  scope: 'dynamic',
  source: 'bench',
  entry,
  signature: JSON.stringify(entry),
})

export const stdioEntry = (env = {}) => ({ type: 'stdio', command: process.execPath, args: [ECHO], env })

/** A board with a state folder of its own, which is removed with it. */
export async function openBoard(options) {
  const { openBoard: open } = await core('index.js')
  const stateDir = options.stateDir ?? mkdtempSync(join(tmpdir(), 'plugboard-bench-state-'))
  const board = await open({ stateDir, ...options })
  return {
    board,
    close: async () => {
      await board.close()
      if (!options.stateDir) rmSync(stateDir, { recursive: true, force: true })
    },
  }
}

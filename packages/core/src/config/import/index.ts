// import: other clients' formats, read and written. One entry per client; a new client is one file, one fixture and
// one line here.
import { claudeDesktop } from './claude-desktop.ts'
import { codex } from './codex.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'
import type { ClientFormat } from './types.ts'
import { vscode } from './vscode.ts'
import { windsurf } from './windsurf.ts'

export type {
  ClientFile,
  ClientFormat,
  ClientId,
  ClientMachine,
  Imported,
  ImportNote,
  Printed,
  WrittenEntry,
} from './types.ts'

export const CLIENTS: readonly ClientFormat[] = [
  claudeDesktop,
  cursor,
  vscode,
  codex,
  gemini,
  opencode,
  windsurf,
]

export function findClient(id: string): ClientFormat | undefined {
  return CLIENTS.find((client) => client.id === id)
}

// types.ts: what an importer and exporter of another client's format is. One ClientFormat is one client; index.ts
// holds the table of them. Everything here is pure: reading and writing files is the caller's work.

/** An entry as the user writes it in `.mcp.json`, before any check. */
export type WrittenEntry = Readonly<Record<string, unknown>>

/** Something that could not be converted, or whose meaning changed. Never holds a secret value. */
export interface ImportNote {
  readonly server?: string
  /** The field, in the vocabulary of the side it was read from, e.g. `oauth.clientSecret`. */
  readonly field?: string
  readonly message: string
}

export interface Imported {
  readonly servers: ReadonlyMap<string, WrittenEntry>
  readonly notes: readonly ImportNote[]
}

export interface Printed {
  readonly text: string
  readonly notes: readonly ImportNote[]
}

export interface ClientMachine {
  readonly cwd: string
  readonly home: string
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface ClientFile {
  readonly path: string
  readonly scope: 'project' | 'user'
}

export type ClientId = 'claude-desktop' | 'cursor' | 'vscode' | 'codex' | 'gemini' | 'opencode' | 'windsurf'

export interface ClientFormat {
  readonly id: ClientId
  readonly title: string
  /** Files the client itself reads, most specific (project) first. */
  files(place: ClientMachine): readonly ClientFile[]
  /** Throws ParseError, with the line, for a text that is not a document of this client. */
  parse(text: string): Imported
  print(servers: ReadonlyMap<string, WrittenEntry>): Printed
}

/** Receives a note about the field that is being converted. */
export type Tell = (message: string) => void

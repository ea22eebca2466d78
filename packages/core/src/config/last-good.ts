// last-good.ts: what a reloaded configuration keeps from the previous one. A file that is broken, empty or missing
// keeps its last good content; so does a single entry or settings key. Pure: load.ts reads, this decides.
import type { ConfigDocument, Definition } from './document.ts'
import type { Settings } from './settings.ts'
import type { Source } from './sources.ts'
import type { Diagnostic } from './types.ts'

const STAYS = 'the last good content stays in effect'

/** The same row in the table of sources, read at another time. */
export function sameSource(a: Source, b: Source): boolean {
  return a.id === b.id && a.file === b.file
}

/** The document to use: `next` where it is sound, `before` where it is not. */
export function keepLastGood(next: ConfigDocument, before: ConfigDocument | undefined): ConfigDocument {
  if (!before || !saysSomething(before)) return next
  if (next.unusable === 'empty') return emptied(before)
  if (next.unusable === 'unreadable') return { ...before, diagnostics: next.diagnostics.map(withStays) }
  return {
    ...next,
    definitions: next.definitions.map((definition) => soundDefinition(definition, before)),
    settings: soundSettings(next, before),
  }
}

/** A file that is missing now, on purpose or during a slow save: its servers stay. */
export function withoutItsFile(before: ConfigDocument): ConfigDocument | undefined {
  if (!saysSomething(before)) return undefined
  return { ...before, diagnostics: [goneFault(before.source.file)] }
}

export function goneFault(file: string): Diagnostic {
  return {
    severity: 'error',
    file,
    message: 'the file is gone; its servers keep running until it is back or the board restarts',
    hint: 'Restore the file. To remove its settings on purpose, write {} into it.',
  }
}

export function emptyFault(file: string): Diagnostic {
  return {
    severity: 'error',
    file,
    message: `the file is empty; ${STAYS}`,
    hint: 'Restore its content. To remove its settings on purpose, write {} into it.',
  }
}

export function withStays(fault: Diagnostic): Diagnostic {
  return fault.severity === 'error'
    ? { ...fault, message: `${unpunctuated(fault.message)}; ${STAYS}` }
    : fault
}

export interface DiagnosticNews {
  /** Faults that were not there before. */
  readonly appeared: readonly Diagnostic[]
  /** Files that had errors and have none now. */
  readonly mended: readonly string[]
}

/** The faults that a listener has not seen yet. A fault that only moved to another line is not new. */
export function diagnosticNews(before: readonly Diagnostic[], after: readonly Diagnostic[]): DiagnosticNews {
  const known = new Set(before.map(identity))
  const wrong = new Set(errorFiles(after))
  return {
    appeared: after.filter((fault) => !known.has(identity(fault))),
    mended: [...new Set(errorFiles(before))].filter((file) => !wrong.has(file)),
  }
}

function identity({ severity, file, path, server, message }: Diagnostic): string {
  return JSON.stringify([severity, file, path, server, message])
}

function errorFiles(diagnostics: readonly Diagnostic[]): string[] {
  return diagnostics.filter(({ severity }) => severity === 'error').map(({ file }) => file)
}

function emptied(before: ConfigDocument): ConfigDocument {
  return { ...before, diagnostics: [emptyFault(before.source.file)] }
}

/** A file that was never sound has no last good content. */
function saysSomething({ unusable, definitions, settings }: ConfigDocument): boolean {
  return unusable === undefined && (definitions.length > 0 || Object.keys(settings).length > 0)
}

/** A broken entry stays as it was, under the hash that was approved. */
function soundDefinition(next: Definition, before: ConfigDocument): Definition {
  if (next.entry) return next
  const last = before.definitions.find(({ name, entry }) => name === next.name && entry)
  return last ? { ...last, faults: next.faults.map(withStays) } : next
}

function soundSettings(next: ConfigDocument, before: ConfigDocument): Settings {
  const wrong = next.diagnostics.flatMap(({ severity, path }) =>
    severity === 'error' && path !== undefined ? [path.split(/[.[]/, 1)[0] ?? ''] : [],
  )
  if (wrong.length === 0) return next.settings
  // A policy counts as a whole: an administrator never chose half of the new one with half of the old one.
  if (next.source.scope === 'enterprise') return before.settings
  const last = Object.entries(before.settings).filter(([key]) => wrong.includes(key))
  return { ...next.settings, ...Object.fromEntries(last) }
}

function unpunctuated(message: string): string {
  return message.replace(/\.$/, '')
}

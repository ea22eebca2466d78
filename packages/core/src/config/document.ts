// document.ts: one file's text → the definitions and settings it holds. Pure; load.ts reads the text.
import { isObject } from '../json.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { printable } from '../text/strip-controls.ts'
import { isOwnEntry, OWN_NAME } from './adopt/own-entry.ts'
import type { ServerEntry } from './entry.ts'
import { nameFault } from './names.ts'
import { type JsonNode, member, nodeAt, type ParsedDocument, parseDocument, toValue } from './parse.ts'
import { LOCKED } from './policy.ts'
import { readEntry } from './schema.ts'
import { readSettings, type Settings } from './settings.ts'
import type { Source } from './sources.ts'
import { kindOfType } from './transport-traits.ts'
import type { Diagnostic } from './types.ts'

/** One definition of one name in one place, valid or not. */
export interface Definition {
  readonly name: string
  readonly source: Source
  readonly line?: number
  /** Where in the document, e.g. `mcpServers.github`. */
  readonly path: string
  /** As written, for hashing, editing and display. */
  readonly written: unknown
  /** Missing when the entry is malformed or its name is not allowed. */
  readonly entry?: ServerEntry
  /**
   * Why the entry is disabled although its author did not disable it: a bundle lacks a value, or is for another
   * system.
   */
  readonly offBecause?: string
  /** Why there is no server of this definition: a built-in that is switched off. */
  readonly absentBecause?: string
  /** A sentence for `explain`: what made it a server. */
  readonly note?: string
  readonly faults: readonly Diagnostic[]
}

export interface ConfigDocument {
  readonly source: Source
  readonly definitions: readonly Definition[]
  readonly settings: Settings
  readonly diagnostics: readonly Diagnostic[]
  /** Set when the whole file is unusable: its text is broken, it cannot be read, or it is empty. */
  readonly unusable?: 'unreadable' | 'empty'
  /** For a bundle that was only inspected: unpacks its files where the entries expect them, or says why it cannot. */
  readonly unpack?: (() => Promise<Diagnostic | undefined>) | undefined
}

export function readDocument(text: string, source: Source, root: string): ConfigDocument {
  const document = parseDocument(text, source.file, KEEP[source.shape]?.(root))
  const diagnostics = [...document.diagnostics]
  if (document.root && document.root.kind !== 'object')
    return {
      source,
      definitions: [],
      settings: source.scope === 'enterprise' ? LOCKED : {},
      unusable: 'unreadable',
      // In broken text the shape is a guess; the syntax error is enough.
      diagnostics: document.broken
        ? diagnostics
        : [
            ...diagnostics,
            {
              severity: 'error',
              file: source.file,
              ...document.position(document.root.offset),
              message: 'the file must hold an object',
              hint: 'Write { "mcpServers": { … } }.',
            },
          ],
    }
  const found = serversNode(document, source, root, diagnostics)
  const definitions = document.broken ? [] : definitionsIn(document, found, source, diagnostics)
  const speaks = source.shape === 'settings' || source.shape === 'managed-mcp'
  const { settings, diagnostics: more } = speaks
    ? readSettings(document, document.root, source)
    : { settings: {}, diagnostics: [] }
  const unreadable = document.broken || (found.node !== undefined && found.node.kind !== 'object')
  const unusable = unreadable ? 'unreadable' : document.root === undefined ? 'empty' : undefined
  return {
    source,
    definitions,
    settings,
    diagnostics: [...diagnostics, ...more],
    ...(unusable && { unusable }),
  }
}

/** A definition that did not come out of a JSON file: a flag, the API, a plugin, a fetched list. */
export function defineServer(
  name: string,
  written: unknown,
  source: Source,
  at: { readonly line?: number; readonly column?: number; readonly path?: string } = {},
  place: (path: readonly (string | number)[]) => { line?: number; column?: number } = () => at,
): Definition {
  const prefix = at.path ?? `mcpServers.${name}`
  const fault = nameFault(name)
  // An embedding program may name its servers freely; a file may not.
  const isSdk =
    source.scope === 'dynamic' && kindOfType((written as { type?: unknown } | null)?.type) === 'in-process'
  const base = { name, source, written, path: prefix, ...(at.line !== undefined && { line: at.line }) }
  const where = { file: source.file, server: name }
  // An adopted client's entry under our own name: it is meant for the client, and no fault.
  if (name === OWN_NAME && isObject(written) && isOwnEntry(written)) return { ...base, faults: [] }
  if (fault && !isSdk)
    return {
      ...base,
      faults: [
        {
          severity: 'error',
          ...where,
          ...lineOf(at),
          path: printable(prefix),
          ...fault,
          message: printable(`${fault.message}; the entry is skipped`),
        },
      ],
    }
  const outcome = readEntry(written)
  const faults = outcome.faults.map(
    (schemaFault): Diagnostic => ({
      severity: schemaFault.severity,
      ...where,
      ...place(schemaFault.path),
      path: printable(prefix + pathText(schemaFault.path)),
      message: printable(schemaFault.message),
      ...(schemaFault.hint && { hint: schemaFault.hint }),
    }),
  )
  if (!outcome.ok) return { ...base, faults }
  if (isOwnEntry(outcome.entry))
    return {
      ...base,
      entry: { ...outcome.entry, disabled: true },
      offBecause: 'it is this board itself',
      faults,
    }
  return { ...base, entry: outcome.entry, faults }
}

/** Only these parts of another product's large files are read. */
const KEEP: Readonly<Partial<Record<Source['shape'], (root: string) => readonly string[]>>> = {
  'claude-json': () => ['mcpServers'],
  'claude-json-project': (root) => ['projects', root, 'mcpServers'],
}

interface Found {
  readonly node: JsonNode | undefined
  readonly prefix: string
}

function serversNode(
  document: ParsedDocument,
  source: Source,
  root: string,
  diagnostics: Diagnostic[],
): Found {
  const top = document.root
  if (source.shape === 'claude-json-project')
    return {
      node: nodeAt(top, ['projects', root, 'mcpServers']),
      prefix: `projects[${JSON.stringify(root)}].mcpServers`,
    }
  const wrapped = member(top, 'mcpServers')
  if (wrapped) {
    if (wrapped.value && wrapped.value.kind !== 'object' && !document.broken)
      diagnostics.push({
        severity: 'error',
        file: source.file,
        ...document.position(wrapped.value.offset),
        path: 'mcpServers',
        message: '"mcpServers" must be an object',
        hint: 'Write "mcpServers": { "name": { … } }.',
      })
    return { node: wrapped.value, prefix: 'mcpServers' }
  }
  // A flat map of servers is a shape of .mcp.json alone; elsewhere the other keys are settings.
  if (source.shape === 'mcp-json' || source.shape === 'managed-mcp') return { node: top, prefix: '' }
  return { node: undefined, prefix: 'mcpServers' }
}

/** In the flat shape these keys are the file's own, not servers. */
const NOT_SERVERS = new Set([
  '$schema',
  'allowedMcpServers',
  'deniedMcpServers',
  'allowManagedMcpServersOnly',
  'permissions',
])

function definitionsIn(
  document: ParsedDocument,
  { node, prefix }: Found,
  source: Source,
  diagnostics: Diagnostic[],
): Definition[] {
  if (node?.kind !== 'object') return []
  const last = new Map(node.members.map((item) => [item.key, item]))
  const flat = prefix === ''
  const servers = [...last.values()].filter(
    ({ key }) => key !== '__proto__' && !(flat && NOT_SERVERS.has(key)),
  )
  const firstLeftOut = servers[CONFIG_LIMITS.entriesPerFile]
  if (firstLeftOut)
    diagnostics.push({
      severity: 'error',
      file: source.file,
      ...document.position(firstLeftOut.offset),
      message: `the file has ${servers.length} servers; those after the first ${CONFIG_LIMITS.entriesPerFile} are left out`,
      hint: 'Check that this is the right file.',
    })
  return servers.slice(0, CONFIG_LIMITS.entriesPerFile).map((item) => {
    const path = flat ? item.key : `${prefix}.${item.key}`
    return defineServer(
      item.key,
      toValue(item.value),
      source,
      { ...document.position(item.offset), path },
      (steps) => document.position((nodeAt(item.value, steps) ?? item).offset),
    )
  })
}

function pathText(path: readonly (string | number)[]): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
}

function lineOf(at: { readonly line?: number; readonly column?: number }) {
  return {
    ...(at.line !== undefined && { line: at.line }),
    ...(at.column !== undefined && { column: at.column }),
  }
}

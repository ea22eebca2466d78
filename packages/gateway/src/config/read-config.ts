// read-config.ts: the text of gateway.json → a checked configuration, or what is wrong with it, where, and what to write
// instead. Pure: it reads no file.
import { nodeAt, parseDocument, toValue } from '@plugboard/core/config/parse'
import { nearest } from '@plugboard/core/text/nearest'
import { checkMeaning, type FoundFault } from './check-config.ts'
import { type GatewayConfig, gatewaySchema, knownKeys } from './schema.ts'

/** One thing that is wrong in gateway.json. */
export interface ConfigFault {
  readonly line?: number
  /** The key, with dots. */
  readonly path: string
  readonly message: string
  readonly hint?: string | undefined
}

/** gateway.json as it was read: its content, or everything that is wrong in it. */
export type ConfigReading =
  | { readonly ok: true; readonly config: GatewayConfig }
  | { readonly ok: false; readonly faults: readonly ConfigFault[] }

/**
 * Reads gateway.json; every fault comes with its place.
 *
 * @example
 * const reading = readGatewayConfig('{ "publicUrl": 7 }', 'gateway.json')
 * if (!reading.ok) for (const fault of reading.faults) console.log(faultText('gateway.json', fault))
 */
export function readGatewayConfig(text: string, file: string): ConfigReading {
  const document = parseDocument(text, file)
  const broken = document.diagnostics.filter(({ severity }) => severity === 'error')
  if (broken.length > 0)
    return {
      ok: false,
      faults: broken.map(({ line, message, hint }) => ({
        path: '',
        message,
        hint,
        ...(line !== undefined && { line }),
      })),
    }
  const located = ({ path, message, hint }: FoundFault): ConfigFault => {
    const node = nodeAt(document.root, path) ?? nodeAt(document.root, path.slice(0, -1))
    return {
      path: pathText(path),
      message,
      hint,
      ...(node && { line: document.position(node.offset).line }),
    }
  }
  const checked = gatewaySchema.safeParse(toValue(document.root) ?? {})
  if (!checked.success) return { ok: false, faults: checked.error.issues.flatMap(faultsOf).map(located) }
  const config = checked.data satisfies GatewayConfig
  const faults = checkMeaning(config)
  return faults.length > 0 ? { ok: false, faults: faults.map(located) } : { ok: true, config }
}

interface SchemaIssue {
  readonly code?: string | undefined
  readonly path?: readonly PropertyKey[] | undefined
  readonly keys?: readonly string[]
  readonly message?: string | undefined
  readonly issues?: readonly { readonly message?: string | undefined }[]
}

function faultsOf(issue: SchemaIssue): FoundFault[] {
  const path = (issue.path ?? []).map((step) => (typeof step === 'symbol' ? String(step) : step))
  if (issue.code === 'unrecognized_keys')
    return (issue.keys ?? []).map((key) => {
      const known = knownKeys(path)
      const meant = nearest(key, known)
      return {
        path: [...path, key],
        message: 'is not a key of gateway.json',
        hint: meant ? `Did you mean "${meant}"?` : `Known here: ${known.join(', ')}.`,
      }
    })
  const inner = issue.code === 'invalid_key' ? issue.issues?.[0]?.message : undefined
  return [{ path, message: inner ?? issue.message ?? 'is not valid' }]
}

function pathText(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )
}

/**
 * A fault as one line.
 *
 * @example
 * const fault = { line: 3, path: 'publicUrl', message: 'is not a URL' }
 * console.log(faultText('gateway.json', fault)) // gateway.json:3: "publicUrl" is not a URL.
 */
export function faultText(file: string, { line, path, message, hint }: ConfigFault): string {
  const where = line === undefined ? file : `${file}:${line}`
  const what = path === '' ? message : `"${path}" ${message}`
  return `${where}: ${what}.${hint ? ` ${hint}` : ''}`
}

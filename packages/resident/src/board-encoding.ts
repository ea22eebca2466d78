// board-encoding.ts: what the board returns, as plain JSON and back: snapshots and events with errors in them, tools, bytes.
import type { BoardEvent, ServerSnapshot, Tool } from '@plugboard/core'
import { isPlugboardError } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import type { BoundTool, ToolDefinition } from '@plugboard/core/tools'
import { revivedError, wireError } from './error-encoding.ts'
import type { WireError } from './protocol.ts'

export interface WireTool {
  readonly name: string
  readonly server: string
  readonly definition: ToolDefinition
  readonly alwaysLoad: boolean
  readonly builtinAllows?: readonly string[]
  readonly concurrent: boolean
  readonly available: boolean
  readonly decision: ReturnType<Tool['checkPermissions']>
}

export function encodeTool(tool: BoundTool): WireTool {
  return {
    name: tool.name,
    server: tool.server,
    definition: tool.definition,
    alwaysLoad: tool.alwaysLoad,
    ...(tool.builtinAllows && { builtinAllows: tool.builtinAllows }),
    concurrent: tool.traits.concurrencySafe,
    available: tool.available,
    decision: tool.checkPermissions(),
  }
}

/** A value with errors of our family where they may be: itself, its `error`, its state's `error`. */
export function encodeErrors(value: unknown): unknown {
  if (isPlugboardError(value)) return { $error: wireError(value) }
  if (!isObject(value)) return value
  const changed = Object.entries(value).filter(
    ([key, member]) => isPlugboardError(member) || (key === 'state' && isObject(member)),
  )
  if (changed.length === 0) return value
  return { ...value, ...Object.fromEntries(changed.map(([key, member]) => [key, encodeErrors(member)])) }
}

export function decodeErrors(value: unknown): unknown {
  if (!isObject(value)) return value
  // Only our own process writes this member.
  if (isObject(value.$error)) return revivedError(value.$error as unknown as WireError)
  const changed = Object.entries(value).filter(
    ([key, member]) => isObject(member) && (key === 'error' || key === 'state'),
  )
  if (changed.length === 0) return value
  return { ...value, ...Object.fromEntries(changed.map(([key, member]) => [key, decodeErrors(member)])) }
}

export function decodeSnapshots(servers: readonly unknown[]): readonly ServerSnapshot[] {
  return servers.map((server) => decodeErrors(server) as ServerSnapshot)
}

export function decodeEvent(event: unknown): BoardEvent {
  return decodeErrors(event) as BoardEvent
}

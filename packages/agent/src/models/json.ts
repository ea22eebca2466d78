// json.ts: reads what a provider sent without trusting its shape.
import { ModelFailure } from './model.ts'

export type Plain = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function parseEvent(data: string): Plain {
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch (error) {
    throw new ModelFailure('garbage', 'The model sent something that is not JSON.', { cause: error })
  }
  if (!isRecord(value)) throw new ModelFailure('garbage', 'The model sent an event that is not an object.')
  return value
}

export function record(value: unknown): Plain {
  return isRecord(value) ? value : {}
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0
}

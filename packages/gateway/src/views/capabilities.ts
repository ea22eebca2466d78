// capabilities.ts: what the endpoint declares to a client.
import { type Json, LEGACY_TASKS, TASKS_EXTENSION } from '../json-rpc.ts'
import { UI_EXTENSION } from './apps.ts'

/** `to` is a modern client, or whether a legacy one may ask for tasks of 2025-11-25. */
export function capabilitiesFor(to: 'modern' | boolean): Json {
  return {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    extensions: { [UI_EXTENSION]: {}, ...(to === 'modern' && { [TASKS_EXTENSION]: {} }) },
    ...(to === true && { tasks: LEGACY_TASKS }),
  }
}

// disable: the counterpart of enable.
import type { Invocation } from '../context.ts'
import { switchServer } from './enable.ts'

export function run(invocation: Invocation): Promise<number> {
  return switchServer(invocation, false)
}

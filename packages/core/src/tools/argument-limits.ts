// argument-limits.ts: what may be sent to a server at all, before its own schema is checked: a plain object of
// bounded size.
import { TOOL_LIMITS } from '../limits.ts'

/** What is wrong, or undefined. Walks without recursion, so that depth cannot overflow the stack. */
export function argumentErrors(args: unknown): string | undefined {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return 'the arguments must be an object'
  let level: object[] = [args]
  let size = 0
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > TOOL_LIMITS.argumentDepth)
      return `the arguments are nested deeper than ${TOOL_LIMITS.argumentDepth} levels`
    const below: object[] = []
    for (const part of level) {
      if (Object.hasOwn(part, '__proto__')) return 'the arguments hold a key named "__proto__"'
      for (const key in part) {
        const value = (part as Record<string, unknown>)[key]
        size += key.length + 8
        if (typeof value === 'string') size += value.length
        else if (typeof value === 'object' && value !== null) below.push(value)
        else if (typeof value === 'bigint' || typeof value === 'function' || typeof value === 'symbol')
          return `"${key.slice(0, 80)}" is a ${typeof value}, which JSON does not have`
      }
      if (size > TOOL_LIMITS.argumentBytes)
        return `the arguments are larger than ${TOOL_LIMITS.argumentBytes / 1024 / 1024} MiB`
    }
    level = below
  }
  return undefined
}

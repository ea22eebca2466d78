// json.ts: small questions about JSON values of unknown origin. It imports nothing, so that every layer may use it.

export type Json = Record<string, unknown>

/** An object in the sense of JSON: neither null nor an array. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A member of the object itself, never of its prototype. */
export function own(object: Readonly<Json>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets an own property whatever its name, `__proto__` included. */
export function put(target: Json, key: string, value: unknown): void {
  if (key === '__proto__')
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
  else target[key] = value
}

/** One text for one JSON value, whatever the order of its keys. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const keys = Object.keys(value).sort()
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`).join(',')}}`
}

/** `JSON.stringify` for values of any depth; those that are too deep for it come out in one line. */
export function stringifyJson(data: unknown, indent?: number): string {
  try {
    return JSON.stringify(data, null, indent)
  } catch (error) {
    // Nested deeper than the stack of JSON.stringify, which a server's result may be.
    if (error instanceof RangeError) return deepJson(data)
    throw error
  }
}

/** JSON in one line, written without recursion. */
function deepJson(data: unknown): string {
  const parts: string[] = []
  const todo: ({ readonly text: string } | { readonly value: unknown })[] = [{ value: data }]
  for (let next = todo.pop(); next; next = todo.pop()) {
    if ('text' in next) {
      parts.push(next.text)
      continue
    }
    const { value } = next
    if (typeof value !== 'object' || value === null) {
      parts.push(JSON.stringify(value) ?? 'null')
      continue
    }
    const isList = Array.isArray(value)
    const members = Object.entries(value).filter(([, member]) => isList || member !== undefined)
    parts.push(isList ? '[' : '{')
    todo.push({ text: isList ? ']' : '}' })
    // The last one in is the first one out.
    for (let at = members.length - 1; at >= 0; at--) {
      const [key, member] = members[at] as [string, unknown]
      todo.push({ value: member }, { text: `${at > 0 ? ',' : ''}${isList ? '' : `${JSON.stringify(key)}:`}` })
    }
  }
  return parts.join('')
}

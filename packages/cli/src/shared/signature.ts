// signature.ts: a tool's arguments in one readable line: `path: string, limit?: integer = 10`.
import { isObject } from '@plugboard/core/json'
import { oneLine } from './one-line.ts'

export function signatureOf(schema: unknown): string {
  if (!isObject(schema) || !isObject(schema.properties)) return ''
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  return Object.entries(schema.properties)
    .slice(0, 40)
    .map(([name, part]) => {
      const preset =
        isObject(part) && part.default !== undefined ? ` = ${oneLine(JSON.stringify(part.default), 30)}` : ''
      return `${oneLine(name, 60)}${required.has(name) ? '' : '?'}: ${typeName(part)}${preset}`
    })
    .join(', ')
}

function typeName(part: unknown): string {
  if (!isObject(part)) return 'any'
  if (Array.isArray(part.enum))
    return part.enum
      .slice(0, 6)
      .map((one) => oneLine(JSON.stringify(one), 30))
      .concat(part.enum.length > 6 ? ['…'] : [])
      .join(' | ')
  if (Array.isArray(part.type)) return part.type.map((one) => oneLine(String(one), 20)).join(' | ')
  if (part.type === 'array') return `${isObject(part.items) ? typeName(part.items) : 'any'}[]`
  if (typeof part.type === 'string') return oneLine(part.type, 20)
  const several = part.anyOf ?? part.oneOf
  if (Array.isArray(several)) return several.slice(0, 4).map(typeName).join(' | ')
  return 'any'
}

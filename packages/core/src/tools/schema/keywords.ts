// keywords.ts: the keywords of JSON Schema, in the order they are checked. keywords/ implements each. A keyword with
// an invalid value is skipped with a warning; the others still count.
import { contains, items, prefixItems, uniqueItems } from './keywords/arrays.ts'
import { allOf, anyOf, conditional, not, oneOf, reference } from './keywords/combinations.ts'
import {
  additionalProperties,
  dependencies,
  dependentRequired,
  dependentSchemas,
  patternProperties,
  properties,
  propertyNames,
  required,
} from './keywords/objects.ts'
import { unevaluatedItems, unevaluatedProperties } from './keywords/unevaluated.ts'
import { bound, enumeration, equals, format, multipleOf, pattern, size, type } from './keywords/values.ts'
import type { Build } from './run.ts'

/** In the order they are checked: the cheap and most telling ones first. */
export const KEYWORDS: readonly (readonly [string, Build])[] = [
  ['type', type],
  ['const', (wanted) => equals([wanted])],
  ['enum', enumeration],
  ['$ref', reference],
  ['$dynamicRef', reference],
  ['$recursiveRef', reference],
  ['required', required],
  ['properties', properties],
  ['patternProperties', patternProperties],
  ['additionalProperties', additionalProperties],
  ['propertyNames', propertyNames],
  ['minProperties', (limit) => size(limit, 'at least', 'properties')],
  ['maxProperties', (limit) => size(limit, 'at most', 'properties')],
  ['dependentRequired', dependentRequired],
  ['dependentSchemas', dependentSchemas],
  ['dependencies', dependencies],
  ['prefixItems', prefixItems],
  ['items', items],
  ['minItems', (limit) => size(limit, 'at least', 'items')],
  ['maxItems', (limit) => size(limit, 'at most', 'items')],
  ['uniqueItems', uniqueItems],
  ['contains', contains],
  ['minLength', (limit) => size(limit, 'at least', 'characters')],
  ['maxLength', (limit) => size(limit, 'at most', 'characters')],
  ['pattern', pattern],
  ['format', format],
  ['minimum', (limit, schema) => bound(limit, schema.exclusiveMinimum === true ? '>' : '>=')],
  ['maximum', (limit, schema) => bound(limit, schema.exclusiveMaximum === true ? '<' : '<=')],
  ['exclusiveMinimum', (limit) => bound(limit, '>')],
  ['exclusiveMaximum', (limit) => bound(limit, '<')],
  ['multipleOf', multipleOf],
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['not', not],
  ['if', conditional],
  // Last: they depend on what the others have checked.
  ['unevaluatedProperties', unevaluatedProperties],
  ['unevaluatedItems', unevaluatedItems],
]

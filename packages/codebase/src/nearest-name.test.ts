import { expect, it } from 'vitest'
import { nearestName } from './nearest-name.ts'

const KNOWN = ['query', 'max_results', 'regex', 'case_sensitive', 'glob', 'path', 'context_lines']

it.each([
  ['Query', 'query'],
  ['maxResults', 'max_results'],
  ['max-results', 'max_results'],
  ['querry', 'query'],
  ['globs', 'glob'],
  ['caseSensitiv', 'case_sensitive'],
  ['context', 'context_lines'],
  ['results', 'max_results'],
  ['zebra', undefined],
  ['', undefined],
  ['__proto__', undefined],
  ['x'.repeat(10_000), undefined],
])('takes %j for %j', (given, expected) => {
  expect(nearestName(given, KNOWN)).toBe(expected)
})

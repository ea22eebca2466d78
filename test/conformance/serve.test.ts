// A few scenarios of the official conformance suite, through `plugboard serve`, at every test run. All of them, and the
// client's: `npm run conformance`.
import { expect, it } from 'vitest'
// @ts-expect-error the scripts are plain JavaScript
import { ServerHalf } from '../../scripts/lib/conformance-server.mjs'
// @ts-expect-error the scripts are plain JavaScript
import { Suite } from '../../scripts/lib/conformance-suite.mjs'
import { withRegistry } from '../support/registry.ts'

const SCENARIOS = ['server-initialize', 'server-stateless', 'sep-2164-resource-not-found', 'tasks-mrtr-input']

it('passes what the suite requires', { timeout: 10 * 60_000 }, async ({ skip }) => {
  const half = withRegistry(() => new ServerHalf(new Suite()))
  if (!half) return skip('the npm registry cannot be reached')
  const wanted = half.scenarios().filter(({ name }: { name: string }) => SCENARIOS.includes(name))
  const verdicts: string[] = []
  for await (const { name, target, verdict, why } of half.run(wanted))
    verdicts.push(`${name} ${target}: ${verdict}${why && ` (${why})`}`)
  expect(verdicts).toHaveLength(SCENARIOS.length * 2)
  expect(verdicts.filter((verdict) => !verdict.endsWith(': passed'))).toEqual([])
})

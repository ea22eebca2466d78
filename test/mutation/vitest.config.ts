// The project's tests with edits behind switches (scripts/lib/switches.mjs) and a runner that tries them one by one. The
// edits and what to do with them are in the folder that PLUGBOARD_EDITS names; without it the tests run as they are.
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { type SwitchedMutant, withSwitches } from '../../scripts/lib/switches.mjs'
import { isolated } from '../../vitest.config.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = process.env['PLUGBOARD_EDITS']

function switchesPlugin(from: string) {
  const byFile = new Map<string, SwitchedMutant[]>()
  for (const mutant of JSON.parse(readFileSync(join(from, 'edits.json'), 'utf8')) as SwitchedMutant[])
    byFile.set(mutant.file, [...(byFile.get(mutant.file) ?? []), mutant])
  return {
    name: 'plugboard-edits',
    enforce: 'pre' as const,
    transform(code: string, id: string) {
      const mutants = byFile.get(relative(root, id.split('?')[0] ?? id))
      return mutants && { code: withSwitches(code, mutants), map: null }
    },
  }
}

/** The tests that most likely notice an edit come first. */
class Ordered extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const wanted: readonly string[] = JSON.parse(process.env['PLUGBOARD_TEST_ORDER'] ?? '[]')
    const place = ({ moduleId }: TestSpecification) => wanted.indexOf(relative(root, moduleId))
    return files.toSorted((a, b) => place(a) - place(b))
  }
}

export default mergeConfig(
  isolated,
  folder
    ? {
        plugins: [switchesPlugin(folder)],
        test: { runner: './test/mutation/runner.ts', globalSetup: [], retry: 0 },
      }
    : { test: { sequence: { sequencer: Ordered } } },
)

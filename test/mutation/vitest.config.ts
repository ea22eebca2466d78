// The project's tests in the order that `npm run mutation` asks for: the ones that most likely notice an edit come first.
import { relative } from 'node:path'
import { mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import base from '../../vitest.config.ts'

/** Read at each run: one runner serves many edits. */
const order = (): readonly string[] => JSON.parse(process.env['PLUGBOARD_TEST_ORDER'] ?? '[]')

class Ordered extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const wanted = order()
    const place = ({ moduleId }: TestSpecification) => wanted.indexOf(relative(process.cwd(), moduleId))
    return files.toSorted((a, b) => place(a) - place(b))
  }
}

export default mergeConfig(base, { test: { sequence: { sequencer: Ordered } } })

// main.ts: the command. It finds the verb, loads its code, and turns errors into exit codes.
// bin/plugboard.cjs starts it and says how verbs that open the board are loaded.
import { isPlugboardError } from '@plugboard/core/errors'
import { type LostCall, outcomeUnknown } from '@plugboard/resident/client'
import { parseCommandLine } from './args.ts'
import { createInvocation } from './context.ts'
import { createOutput, EXIT, exitCodeOf, jsonText, type Output, reportError } from './output.ts'
import type { LoadBoardVerb, VerbHost } from './verb-spec.ts'
import { VERBS } from './verb-table.ts'

export interface MainOptions {
  /** Set in the resident process, which runs the verb for a command. */
  readonly runsIn?: VerbHost
  /** The call that the resident process was making for this command when it ended. */
  readonly lost?: LostCall | undefined
}

export async function main(
  argv: readonly string[],
  loadBoardVerb: LoadBoardVerb,
  { runsIn, lost }: MainOptions = {},
): Promise<number> {
  const early = {
    json: argv.includes('--json'),
    quiet: false,
    verbose: argv.includes('-v') || argv.includes('--verbose'),
    noColor: argv.includes('--no-color'),
  }
  let output: Output = createOutput(early, runsIn?.write)
  try {
    if (lost) throw outcomeUnknown(lost)
    const parsed = parseCommandLine(argv)
    if (parsed.values['version']) {
      output.write(1, `${process.env['PLUGBOARD_VERSION']}\n`)
      return EXIT.done
    }
    if (parsed.values['help']) {
      const { helpText } = await import('./help.ts')
      output.write(1, helpText(parsed.verb ?? parsed.values['help'], output.color))
      return EXIT.done
    }
    const invocation = createInvocation(parsed, VERBS, loadBoardVerb, runsIn)
    output = invocation.output
    const { run } = await (parsed.verb ? parsed.verb.load(loadBoardVerb) : import('./config-verbs/list.ts'))
    return await run(invocation)
  } catch (error) {
    if (isPlugboardError(error)) {
      reportError(output, error)
      return exitCodeOf(error)
    }
    const { message, stack } = error instanceof Error ? error : new Error(String(error))
    const text = `internal error: ${message}`
    if (output.json) output.write(1, `${jsonText({ error: { code: 'INTERNAL_ERROR', message: text } })}\n`)
    if (!output.json || output.verbose)
      output.write(2, `plugboard: ${output.verbose ? `internal error: ${stack}` : text}\n`)
    return EXIT.toolError
  }
}

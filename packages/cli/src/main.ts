// main.ts: the command. It finds the verb, loads its code, and turns errors into exit codes.
import { PlugboardError } from '@plugboard/core/errors'
import { parseCommandLine } from './args.ts'
import { createInvocation } from './context.ts'
import { createOutput, EXIT, exitCodeOf, type Output, reportError } from './output.ts'
import { VERBS } from './verbs.ts'

const argv = process.argv.slice(2)

async function main(): Promise<number> {
  let output: Output = createOutput({
    json: argv.includes('--json'),
    quiet: false,
    verbose: argv.includes('-v') || argv.includes('--verbose'),
    noColor: argv.includes('--no-color'),
  })
  try {
    const parsed = parseCommandLine(argv)
    if (parsed.values['version']) {
      process.stdout.write(`${process.env['PLUGBOARD_VERSION']}\n`)
      return EXIT.done
    }
    if (parsed.values['help']) {
      const { helpText } = await import('./help.ts')
      process.stdout.write(helpText(parsed.verb, output.color))
      return EXIT.done
    }
    const invocation = await createInvocation(parsed, VERBS)
    output = invocation.output
    const { run } = await (parsed.verb?.load() ?? import('./verbs/list.ts'))
    return await run(invocation)
  } catch (error) {
    if (error instanceof PlugboardError) {
      reportError(output, error)
      return exitCodeOf(error)
    }
    const { message, stack } = error as Error
    process.stderr.write(`plugboard: this should not have happened: ${output.verbose ? stack : message}\n`)
    return EXIT.toolError
  }
}

// A reader that went away (`| head`) ends us quietly, as it does other commands.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done)
  throw error
})

process.exitCode = await main()

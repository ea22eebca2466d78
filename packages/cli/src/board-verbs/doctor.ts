// doctor: checks servers step by step, several at a time, and says for each where it stopped and what to do.
import { builtinContext, checkBuiltin } from '@plugboard/core/builtin'
import { type Configuration, findResolution, hostForPrograms, type Resolution } from '@plugboard/core/config'
import { type Diagnosis, diagnose, type Finding, type Step } from '@plugboard/core/doctor'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe, shortPaths } from '../output.ts'
import { unmatchedRulesOf } from '../shared/unmatched-rules.ts'
import { withLocalBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name] = words(invocation, ['NAME'], 1)
  const { output, host } = invocation
  return withLocalBoard(invocation, async ({ board, configuration, signal }) => {
    const programs = hostForPrograms(host, configuration.place, configuration.folder.trusted)
    const patients = name === undefined ? everyone(configuration) : [findResolution(configuration, name)]
    const servers = await Promise.all(
      patients.map((resolution) =>
        diagnose({
          resolution,
          host: programs,
          signal,
          needs: async () =>
            resolution.server
              ? await checkBuiltin(resolution.server, builtinContext(configuration.place.root, programs))
              : [],
          connection: () => board.link.connection(resolution.name),
        }),
      ),
    )
    invocation.reportFaults(unmatchedRulesOf(board, configuration).map(({ diagnostic }) => diagnostic))
    output.result({ servers }, () =>
      servers.map((server) => asText(server, output.color, output.verbose)).join('\n\n'),
    )
    return exitCode(servers)
  })
}

/** What a managed machine hides, and a built-in that is off, are so on purpose: checked when asked for by name. */
function everyone({ resolutions }: Configuration): Resolution[] {
  return [...resolutions.values()].filter(
    ({ server, contenders }) => server || contenders.some(({ verdict }) => verdict.kind === 'invalid'),
  )
}

/** Of several failures the one that is furthest from working. */
function exitCode(servers: readonly Diagnosis[]): number {
  const codes = servers.filter(({ ok }) => !ok).map(codeOf)
  return [EXIT.connect, EXIT.login, EXIT.denied].find((code) => codes.includes(code)) ?? EXIT.done
}

function codeOf({ stoppedAt, code }: Diagnosis): number {
  if (stoppedAt === 'trust' || stoppedAt === 'policy' || code === 'PERMISSION_DENIED') return EXIT.denied
  return code === 'AUTH_REQUIRED' ? EXIT.login : EXIT.connect
}

const FINDINGS_SHOWN = 10

function asText(server: Diagnosis, color: Colors, all: boolean): string {
  const { bold, dim, green, red, yellow } = color
  const { name, stoppedAt, disabled, rungs, findings } = server
  const verdict = stoppedAt ? red(`stopped at ${stoppedAt}`) : disabled ? dim('switched off') : green('ok')
  const mark = stoppedAt ? red('✘') : disabled ? dim('⊘') : green('✔')
  const shown = all ? findings : findings.slice(0, FINDINGS_SHOWN)
  return [
    `${mark} ${bold(safe(name))}: ${verdict}`,
    ...rungs.flatMap((rung) => rungLines(rung, color)),
    ...shown.map((finding) => `  ${yellow('!')} ${safe(findingText(finding))}`),
    ...(shown.length < findings.length ? [dim(`  … and ${findings.length - shown.length} more (-v)`)] : []),
  ].join('\n')
}

const NAME_WIDTH = 'capabilities'.length

function rungLines({ rung, ok, detail = '', hint }: Step, { dim, green, red }: Colors): string[] {
  const indent = ' '.repeat(NAME_WIDTH + 6)
  const text = shortPaths(detail).replaceAll('\n', `\n${indent}`)
  return [
    `  ${ok ? green('✔') : red('✘')} ${rung.padEnd(NAME_WIDTH)}  ${ok ? dim(text) : text}`.trimEnd(),
    ...(hint ? [`${indent}${shortPaths(hint).replaceAll('\n', `\n${indent}`)}`] : []),
  ]
}

function findingText({ tool, where, message }: Finding): string {
  return [tool, where, message].filter((part) => part !== undefined).join(': ')
}

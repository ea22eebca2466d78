// page.ts: runs one page from top to bottom in a place of its own and reports where it is wrong.
// With PLUGBOARD_DOCS=write, the real output is put into the page instead.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Block, blocksOf, stepsOf } from './blocks.ts'
import { fits } from './compare.ts'
import { openPlace, type Place, ROOT } from './place.ts'
import { standInFor } from './stand-ins.ts'
import { program } from './types.ts'

const WRITE = process.env['PLUGBOARD_DOCS'] === 'write'

export function readPage(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8')
}

/** Where the output differs from the page, one entry a command. */
export async function runPage(page: string): Promise<readonly string[]> {
  const place = openPlace()
  const standIn = await standInFor(page, place)
  const addresses = Object.entries(standIn.addresses)
  const reach: Reach = {
    here: (text) => addresses.reduce((at, [shown, real]) => at.replaceAll(shown, real), text),
    shown: (text) => addresses.reduce((at, [shown, real]) => at.replaceAll(real, shown), text),
  }
  const faults: string[] = []
  const printed = new Map<Block, string[]>()
  try {
    const blocks = blocksOf(page, readPage(page))
    for (const block of blocks) {
      if (block.notRun !== undefined || block.shows) continue
      if (block.file) place.write(block.file, reach.here(`${block.lines.join('\n')}\n`))
      if (block.language === 'sh') printed.set(block, await runTranscript(block, place, reach, faults))
      if (block.language === 'js') checkSyntax(block, faults)
      if (block.language === 'ts') {
        const output = blocks.find(({ shows }) => shows === block)
        const text = reach.shown(
          await place.run(await program(block, reach.here(block.lines.join('\n')), place)),
        )
        if (!fits(output?.lines ?? [], text))
          faults.push(fault(block, 'this program', output?.lines ?? [], text))
        if (output) printed.set(output, text.trimEnd().split('\n'))
      }
    }
  } finally {
    await place.close()
    await standIn.close()
  }
  if (!WRITE || faults.length === 0) return faults
  rewrite(page, printed)
  return []
}

/** Translates URLs of the page to those of its stand-ins, and back. */
interface Reach {
  here(text: string): string
  shown(text: string): string
}

/** Runs the commands, and returns the block with the real output. */
async function runTranscript(block: Block, place: Place, reach: Reach, faults: string[]): Promise<string[]> {
  const lines: string[] = []
  for (const { command, expected } of stepsOf(block)) {
    const text = reach.shown(
      await runCommand(reach.here(command), place, (soFar) => fits(expected, reach.shown(soFar))),
    )
    const good = fits(expected, text)
    if (!good) faults.push(fault(block, `$ ${command}`, expected, text))
    const output = good ? expected : text.trimEnd().split('\n')
    if (lines.length > 0) lines.push('')
    lines.push(
      ...`$ ${command}`.split('\n'),
      ...output.filter((line, at) => line !== '' || at < output.length - 1),
    )
  }
  return lines
}

async function runCommand(
  command: string,
  place: Place,
  enough: (printed: string) => boolean,
): Promise<string> {
  const variable = /^export (\w+)=/.exec(command)?.[1]
  if (variable) {
    place.env[variable] = (await place.run(`${command} && printf '%s\n' "$${variable}"`)).trimEnd()
    return ''
  }
  return command.endsWith(' &')
    ? place.start(command.slice(0, -2), (printed) => printed.includes('\n') && (WRITE || enough(printed)))
    : place.run(command)
}

function checkSyntax(block: Block, faults: string[]): void {
  const done = spawnSync(process.execPath, ['--check', '--input-type=module', '-'], {
    input: block.lines.join('\n'),
  })
  if (done.status !== 0) faults.push(`${block.page}:${block.line}: ${done.stderr}`)
}

function fault({ page, line }: Block, what: string, shown: readonly string[], text: string): string {
  return `${page}:${line}: ${what}\n--- the page shows\n${shown.join('\n')}\n--- printed\n${text}`
}

/** From the bottom up, so that line numbers stay right. */
function rewrite(page: string, printed: ReadonlyMap<Block, string[]>): void {
  const lines = readPage(page).split('\n')
  for (const [block, output] of [...printed].reverse())
    lines.splice(block.line, block.lines.length, ...output)
  writeFileSync(join(ROOT, page), lines.join('\n'))
}

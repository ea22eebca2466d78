// blocks.ts: the code blocks of a Markdown page, and what the page says about each. It runs none of them.

export interface Block {
  readonly page: string
  readonly language: string
  /** The word after the language: a file that the block is written to before anything runs. */
  readonly file: string | undefined
  readonly lines: readonly string[]
  /** Line of the opening fence, from 1. */
  readonly line: number
  /** The reason of a `_Not run here: …_` line above the block. */
  readonly notRun: string | undefined
  /** For a `text` block right under a `ts` block: what that one prints. */
  readonly shows: Block | undefined
}

/** The one way to mark a block that cannot run here; `grep -rn 'Not run here' docs README.md` finds them all. */
const NOT_RUN = /^_Not run here: (.+)_$/

export function blocksOf(page: string, markdown: string): readonly Block[] {
  const blocks: Block[] = []
  const lines = markdown.split('\n')
  let said = ''
  for (let at = 0; at < lines.length; at++) {
    const fence = /^```(\S*)\s*(\S*)\s*$/.exec(lines[at] ?? '')
    if (!fence) {
      if (lines[at]?.trim()) said = lines[at] ?? ''
      continue
    }
    const end = lines.indexOf('```', at + 1)
    if (end === -1) throw new Error(`${page}:${at + 1}: the block is never closed`)
    const language = fence[1] ?? ''
    const last = blocks.at(-1)
    blocks.push({
      page,
      language,
      file: fence[2] || undefined,
      lines: lines.slice(at + 1, end),
      line: at + 1,
      notRun: NOT_RUN.exec(said)?.[1],
      shows: language === 'text' && said === '```' && last?.language === 'ts' ? last : undefined,
    })
    said = '```'
    at = end
  }
  return blocks
}

export interface Step {
  readonly command: string
  readonly expected: readonly string[]
}

/** A transcript: `$ ` starts a command, a backslash at its end continues it, the lines below are what it prints. */
export function stepsOf(block: Block): readonly Step[] {
  const steps: { command: string; expected: string[] }[] = []
  let continues = false
  for (const line of block.lines) {
    const step = steps.at(-1)
    if (continues && step) step.command += `\n${line}`
    else if (line.startsWith('$ ')) steps.push({ command: line.slice(2), expected: [] })
    else if (step) step.expected.push(line)
    else throw new Error(`${block.page}:${block.line}: output before the first \`$ \` command`)
    continues = (continues || line.startsWith('$ ')) && line.endsWith('\\')
  }
  // A blank line between two commands is only layout.
  for (const step of steps) while (step.expected.at(-1) === '') step.expected.pop()
  return steps
}

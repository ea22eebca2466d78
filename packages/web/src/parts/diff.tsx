// diff.tsx: what a change does to a file, line by line.
import { lineDiff } from '@plugboard/core/text/line-diff'

const MARKS = { same: ' ', added: '+', removed: '−', gap: ' ' } as const

interface DiffProps {
  readonly before: string
  readonly after: string
  readonly file: string
}

export function Diff({ before, after, file }: DiffProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
    <section className="diff" aria-label={`Change of ${file}`} tabIndex={0}>
      <div className="diff-file">{file}</div>
      {lineDiff(before, after).map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a diff have no other identity
        <div key={at} className={`diff-line diff-${line.kind}`}>
          <span className="diff-mark">{MARKS[line.kind]}</span>
          {line.kind === 'added' && <span className="visually-hidden">added: </span>}
          {line.kind === 'removed' && <span className="visually-hidden">removed: </span>}
          {line.kind === 'gap' ? '…' : line.text}
        </div>
      ))}
    </section>
  )
}

// config-events.ts: tells the user of a running board about its configuration files: what broke, what is good again,
// and which servers were added and removed.
import type { Board } from '@plugboard/core'
import { diagnosticText, type Output, safe, shortPath } from './output.ts'

/** Prints whole lines for standard error until the returned function is called. */
export function printConfigEvents(
  board: Board,
  { quiet, errorColor }: Pick<Output, 'quiet' | 'errorColor'>,
  print: (line: string) => void,
): () => void {
  if (quiet) return () => undefined
  const stops = [
    board.on('configuration-fault', (fault) => print(diagnosticText(fault, errorColor))),
    board.on('configuration-mended', ({ file }) => print(`${shortPath(file)} is good again.`)),
    board.on('configuration-changed', ({ added, removed }) => {
      const gone = removed.filter((name) => !added.includes(name))
      const changed = removed.filter((name) => added.includes(name))
      const fresh = added.filter((name) => !removed.includes(name))
      const parts = [
        ...(fresh.length > 0 ? [`added ${names(fresh)}`] : []),
        ...(changed.length > 0 ? [`changed ${names(changed)}`] : []),
        ...(gone.length > 0 ? [`removed ${names(gone)}`] : []),
      ]
      if (parts.length > 0) print(`The configuration changed: ${parts.join('; ')}.`)
    }),
    board.on('warning', ({ text }) => print(safe(text))),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

const SHOWN = 8

function names(servers: readonly string[]): string {
  const more = servers.length > SHOWN ? ` and ${servers.length - SHOWN} more` : ''
  return `${servers.slice(0, SHOWN).map(safe).join(', ')}${more}`
}

// What a user sees of a list that grows on a real terminal.
import { afterEach, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { noTerminal, openTerminal, type Terminal } from '../support/terminal.ts'

let place: Place
let terminal: Terminal | undefined
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  place.remove()
})

const missing = noTerminal()
if (missing) console.warn(`The terminal tests are skipped: ${missing}`)

const servers = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`absent-${at}`, { command: 'no-such-command' }]),
  )

it.skipIf(missing)('a board that is higher than the screen is shown once', { timeout: 60_000 }, async () => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: servers(60) })
  terminal = await openTerminal(place, 'list')
  const shown = await terminal.see('exit 0', 40_000)
  expect(shown.match(/NAME +STATE/g)).toHaveLength(1)
  expect(shown.match(/absent-0 +failed/g)).toHaveLength(1)
})

// `node scripts/ensure-browser.mjs`: makes sure there is a Chromium for the browser test, and says why when there is
// none. Searches for one first; on Debian and Ubuntu, as root, it installs the distribution's own.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'microsoft-edge']
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** The path of a browser of the Chromium family, or undefined. `PLUGBOARD_BROWSER` names one by hand. */
export function findBrowser() {
  const named = process.env.PLUGBOARD_BROWSER
  if (named) return named
  const folders = (process.env.PATH ?? '').split(delimiter)
  const candidates = [...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))), ...PLACES]
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

export function ensureBrowser() {
  const found = findBrowser()
  if (found) return found
  const explain = (why) => {
    console.error(`plugboard: no browser for the browser test: ${why}.`)
    console.error(
      'Install Chromium or Chrome, or name one in PLUGBOARD_BROWSER; the test is skipped until then.',
    )
    return undefined
  }
  if (!existsSync('/usr/bin/apt-get')) return explain('none was found, and this is no Debian')
  if (process.getuid?.() !== 0) return explain('none was found, and only root may install one')
  console.error('plugboard: installing chromium for the browser test (once)…')
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) => spawnSync('apt-get', args, { stdio: 'ignore', env, timeout: 600_000 }).status === 0
  const install = () => apt('install', '-y', '--no-install-recommends', 'chromium')
  if (!install() && !(apt('update') && install())) return explain('apt-get could not install one')
  return findBrowser()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit(ensureBrowser() ? 0 : 1)

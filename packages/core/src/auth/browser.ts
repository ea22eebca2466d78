// browser.ts: opens a page in the user's browser. No shell ever parses the address, and only web addresses are opened.
import { parse } from 'node:path'
import { findProgram } from '../config/start-folder.ts'
import type { Host } from '../host.ts'
import { AuthRefused, shownUrl } from './auth-refused.ts'

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ['open'],
  // `start` is a cmd.exe command, which would interpret `&` and `%` in the address; this program takes it as it is.
  win32: ['rundll32.exe', 'url.dll,FileProtocolHandler'],
}

/** Returns whether a browser was started; `false` is no fault, the user can open the address by hand. */
export function openBrowser(host: Host, address: string | URL): Promise<boolean> {
  const url = new URL(address)
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new AuthRefused('bad-authorization-url', `${shownUrl(url)} is not a web page; it is not opened.`)
  const [command, ...args] = OPENERS[host.platform] ?? ['xdg-open']
  return new Promise((done) => {
    // `href` is percent-encoded: it contains no quotes, spaces, line breaks or leading dash.
    // The project in which the login was started must not choose the opener or its folder.
    const file =
      host.platform === 'win32'
        ? `${host.env['SYSTEMROOT'] ?? 'C:\\Windows'}\\System32\\${command}`
        : findProgram(command, host.env, undefined)
    const child = host.spawn(file, [...args, url.href], {
      stdio: 'ignore',
      detached: true,
      shell: false,
      cwd: parse(process.execPath).root,
      env: { ...host.env },
    })
    // An opener that keeps running is the browser itself; one that fails exits soon.
    const settled = host.awaitedTimer(1500, () => done(true))
    child.once('error', () => {
      settled()
      done(false)
    })
    child.once('exit', (code) => {
      settled()
      done(code === 0)
    })
    child.unref()
  })
}

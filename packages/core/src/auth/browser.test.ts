// Which program opens a page, how it is started, and when that counts as opened.
import { EventEmitter } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { openBrowser } from './browser.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plugboard-browser-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const PAGE = 'https://login.example/authorize?a=1&b=%25x'

/** The programs of other systems are not here: what would be started is written down instead. */
function recordingHost(over: Partial<Host>, then: (child: EventEmitter) => void) {
  const started: unknown[] = []
  const spawn = (...call: unknown[]) => {
    started.push(call)
    const child = Object.assign(new EventEmitter(), { unref: () => undefined })
    queueMicrotask(() => then(child))
    return child
  }
  return { started, host: systemHost({ ...over, spawn: spawn as unknown as Host['spawn'] }) }
}

describe('a page', () => {
  it.each(['file:///etc/passwd', 'javascript:alert(1)', 'mailto:a@b.example', 'custom://x'])(
    'at %s is not opened',
    (address) => {
      const { host, started } = recordingHost({}, () => undefined)
      expect(() => openBrowser(host, address)).toThrow('is not a web page; it is not opened.')
      expect(started).toEqual([])
    },
  )

  it.each(['https://a.example/', 'http://127.0.0.1:1/'])('at %s is opened', async (address) => {
    const { host } = recordingHost({}, (child) => child.emit('exit', 0))
    expect(await openBrowser(host, address)).toBe(true)
  })

  const OPTIONS = { stdio: 'ignore', detached: true, shell: false, cwd: '/' }
  it.each<[NodeJS.Platform, Record<string, string>, string, string[]]>([
    ['linux', { PATH: '/nowhere' }, '/nonexistent/xdg-open', []],
    ['darwin', { PATH: '/nowhere' }, '/nonexistent/open', []],
    ['win32', {}, 'C:\\Windows\\System32\\rundll32.exe', ['url.dll,FileProtocolHandler']],
    ['win32', { SYSTEMROOT: 'D:\\W' }, 'D:\\W\\System32\\rundll32.exe', ['url.dll,FileProtocolHandler']],
  ])(
    'on %s with %j is opened by the system’s own program, without a shell',
    async (platform, env, file, args) => {
      const { host, started } = recordingHost({ platform, env }, (child) => child.emit('exit', 0))
      await openBrowser(host, new URL(PAGE))
      expect(started).toEqual([[file, [...args, PAGE], { ...OPTIONS, env }]])
    },
  )
})

describe('an opener', () => {
  const opener = (script: string) => {
    writeFileSync(join(folder, 'xdg-open'), `#!/bin/sh\n${script}\n`)
    chmodSync(join(folder, 'xdg-open'), 0o755)
    return systemHost({ platform: 'linux', env: { PATH: `${folder}:/usr/bin:/bin` } })
  }

  it.each([
    ['that ends well', 'exit 0', true],
    ['that fails', 'exit 3', false],
    // An opener that stays is the browser itself.
    ['that stays', 'exec sleep 5', true],
  ])('%s opened the page: %s', async (_, script, opened) => {
    expect(await openBrowser(opener(script), PAGE)).toBe(opened)
  })

  it('that is not there opened nothing', async () => {
    expect(await openBrowser(systemHost({ platform: 'linux', env: { PATH: folder } }), PAGE)).toBe(false)
  })
})

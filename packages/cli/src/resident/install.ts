// install.ts: a unit for the user's service manager (systemd, launchd) that runs `plugboard up --foreground`.
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import type { Host } from '@plugboard/core/host'
import { NODE_FLAGS } from './start.ts'

export interface InstalledUnit {
  readonly file: string
  /** The command that starts it. */
  readonly next: string
}

export function installUnit(host: Pick<Host, 'home' | 'platform' | 'env'>): InstalledUnit {
  const unit = unitFor(host, [
    process.execPath,
    ...NODE_FLAGS,
    realpathSync(process.argv[1] ?? ''),
    'up',
    '--foreground',
    '--idle-ms',
    '0',
  ])
  mkdirSync(dirname(unit.file), { recursive: true })
  writeFileSync(unit.file, unit.text)
  return { file: unit.file, next: unit.next }
}

export function unitFor(
  { home, platform, env }: Pick<Host, 'home' | 'platform' | 'env'>,
  command: readonly string[],
): InstalledUnit & { readonly text: string } {
  if (platform === 'darwin') {
    const file = join(home, 'Library/LaunchAgents/dev.plugboard.resident.plist')
    return { file, next: `launchctl load -w ${file}`, text: launchd(command) }
  }
  if (platform !== 'linux')
    throw new InvalidInput('There is no unit for the service manager of this system.', {
      hint: 'Have it run `plugboard up --foreground --idle-ms 0`.',
    })
  const folder = env['XDG_CONFIG_HOME'] || join(home, '.config')
  return {
    file: join(folder, 'systemd/user/plugboard.service'),
    next: 'systemctl --user enable --now plugboard',
    text: systemd(command),
  }
}

function systemd(command: readonly string[]): string {
  // The program itself may have no special characters in its path, its arguments may.
  const isPlain = /^[\w@+.,:/ -]*$/.test(command[0] ?? '')
  // In a unit, % and $ have meanings of their own.
  const words = (isPlain ? command : ['/usr/bin/env', ...command]).map(
    (word) => `"${word.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`,
  )
  return `[Unit]
Description=Plugboard: MCP servers for every terminal

[Service]
ExecStart=${words.join(' ')}
Restart=on-failure

[Install]
WantedBy=default.target
`
}

function launchd(command: readonly string[]): string {
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const words = command.map((word) => `    <string>${escaped(word)}</string>`).join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.plugboard.resident</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
</dict>
</plist>
`
}

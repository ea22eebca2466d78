// environment.ts: which part of our environment a child gets. Everything else (keys, tokens, the agent's own
// settings) is withheld unless the entry requests it.
import { posix, win32 } from 'node:path'
import type { StdioEntry } from '../config/entry.ts'
import type { Host } from '../host.ts'

/** What a program needs to run: the paths of programs, home and temporary files, the locale, the proxy. */
const INHERITED: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'COLORTERM',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'TEMP',
  'TMP',
  'XDG_CACHE_HOME',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'XDG_STATE_HOME',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  // Windows: programs do not start without the first, and find nothing without the others.
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'APPDATA',
  'LOCALAPPDATA',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'COMMONPROGRAMFILES',
  'PROCESSOR_ARCHITECTURE',
  'NUMBER_OF_PROCESSORS',
  'HOMEDRIVE',
  'HOMEPATH',
  'USERNAME',
  'USERPROFILE',
])

/** Tells a child that a board started it; a board that serves itself would recurse without end. */
const CHILD_MARK = 'PLUGBOARD_CHILD'

function isInherited(name: string): boolean {
  const upper = name.toUpperCase()
  return INHERITED.has(upper) || upper.startsWith('LC_')
}

/** Without empty and relative entries: they would run programs from the child's working folder. */
export function absolutePath(path: string, platform: NodeJS.Platform): string {
  const [separator, isAbsolute] = platform === 'win32' ? [';', win32.isAbsolute] : [':', posix.isAbsolute]
  const kept = path
    .split(separator)
    .filter((folder) => isAbsolute(folder.replace(/^"|"$/g, '')))
    .join(separator)
  // An empty PATH means the current folder.
  return kept === '' && platform !== 'win32' ? '/usr/bin:/bin' : kept
}

/** The environment of a child: the allowed part of ours (or all of it), then the entry's own, which wins. */
export function childEnvironment(
  entry: Pick<StdioEntry, 'env' | 'inheritEnv'>,
  host: Pick<Host, 'env' | 'platform'>,
): Record<string, string> {
  // A variable may be called __proto__; without a prototype it is an ordinary name.
  const env: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(host.env)) {
    if (value === undefined) continue
    // An exported bash function runs code in every bash that inherits it.
    if (value.startsWith('()')) continue
    if (entry.inheritEnv === true || isInherited(name))
      env[name] = name.toUpperCase() === 'PATH' ? absolutePath(value, host.platform) : value
  }
  env[CHILD_MARK] = '1'
  // cmd.exe would otherwise look for programs in its working folder before PATH.
  if (host.platform === 'win32') env['NoDefaultCurrentDirectoryInExePath'] = '1'
  for (const [name, value] of Object.entries(entry.env)) {
    // Windows names have no case: with both `Path` and `PATH` the result would be undefined.
    if (host.platform === 'win32')
      for (const other of Object.keys(env)) if (other.toUpperCase() === name.toUpperCase()) delete env[other]
    env[name] = value
  }
  return env
}

// windows-command.ts: how a command is started on Windows, where `npx` is a batch file that only cmd.exe runs. Pure:
// it checks names through `exists` and starts nothing.
import { win32 } from 'node:path'
import { InvalidInput } from '../errors.ts'

export interface ResolvedCommand {
  readonly file: string
  readonly args: readonly string[]
  /** The arguments are already quoted for cmd.exe; they must not be quoted again. */
  readonly verbatim: boolean
}

const DEFAULT_PATHEXT = '.COM;.EXE;.BAT;.CMD'

/** The file and arguments that start `command` without a shell, or with cmd.exe for a batch file. */
export function resolveWindowsCommand(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): ResolvedCommand {
  const file = findOnPath(command, env, exists)
  if (file === undefined) return { file: notFound(command, env), args, verbatim: false }
  if (!/\.(?:cmd|bat)$/i.test(file)) return { file, args, verbatim: false }
  const line = [escapeForCmd(file), ...args.map(quoteForBatch)].join(' ')
  return {
    file: variable(env, 'COMSPEC') ?? notFound('cmd.exe', env),
    args: ['/d', '/s', '/v:off', '/c', `"${line}"`],
    verbatim: true,
  }
}

/** Windows looks for a bare name in the current folder first; a full path fails when PATH has no match. */
function notFound(command: string, env: Readonly<Record<string, string | undefined>>): string {
  if (/[\\/]/.test(command)) return command
  return `${variable(env, 'SYSTEMROOT') ?? 'C:\\Windows'}\\System32\\${command}`
}

function variable(env: Readonly<Record<string, string | undefined>>, name: string): string | undefined {
  for (const [key, value] of Object.entries(env))
    if (key.toUpperCase() === name && value !== undefined && value !== '') return value
  return undefined
}

function findOnPath(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (variable(env, 'PATHEXT') ?? DEFAULT_PATHEXT).split(';').filter(Boolean)
  const hasExtension = extensions.some((extension) => command.toLowerCase().endsWith(extension.toLowerCase()))
  // A bare name is never matched without an extension: beside npx.cmd there is an `npx` for other systems.
  const endings = hasExtension ? [''] : extensions
  const named = /[\\/]/.test(command) || /^[a-z]:/i.test(command)
  const folders = named
    ? ['']
    : (variable(env, 'PATH') ?? '')
        .split(';')
        .filter((folder) => win32.isAbsolute(folder.replace(/^"|"$/g, '')))
  for (const folder of folders)
    for (const ending of endings) {
      const path = `${folder === '' ? '' : `${folder.replace(/^"|"$/g, '').replace(/[\\/]$/, '')}\\`}${command}${ending}`
      if (exists(path)) return path
    }
  return undefined
}

const CMD_SPECIAL = /[()[\]%!^"`<>&|;, *?=]/g

function escapeForCmd(text: string): string {
  return text.replace(CMD_SPECIAL, '^$&')
}

/**
 * One argument that passes unchanged through cmd.exe and through the `%*` of a batch file: quoted as the C runtime
 * reads it, then every character that cmd.exe interprets is escaped, once for each of the two times it is read.
 */
function quoteForBatch(argument: string): string {
  if (/[\r\n\0]/.test(argument))
    throw new InvalidInput('An argument with a line break cannot be passed to a batch file on Windows.', {
      stage: 'transport',
      hint: 'Start the program itself (node, python) instead of its .cmd wrapper.',
    })
  const quoted = `"${argument.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\*)$/, '$1$1')}"`
  return escapeForCmd(escapeForCmd(quoted))
}

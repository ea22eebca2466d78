// sandbox.ts: a command that runs another so that it can write only in the project, reads no credentials and has no network, where
// the system can do that. Where it cannot be done, it says why.
import { execFile } from 'node:child_process'
import { lstat, realpath } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { WorkspaceError } from './errors.ts'

export interface SandboxPlaces {
  readonly root: string
  readonly home: string
  /** A folder for temporary files. */
  readonly temporary: string
  /** With network access. */
  readonly online: boolean
  /** Folders that must not be read besides the usual ones. */
  readonly hidden: readonly string[]
}

export type Sandbox =
  | {
      readonly kind: 'on'
      /** The program and arguments that run the command line in the variable `COMMAND_VARIABLE`. */
      wrapper(places: SandboxPlaces): Promise<readonly string[]>
    }
  | { readonly kind: 'off'; readonly why: string }

/** Folders and files of the home folder that hold credentials. */
const CREDENTIALS = [
  '.ssh',
  '.gnupg',
  '.aws',
  '.azure',
  '.kube',
  '.docker',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.git-credentials',
  '.claude',
  '.claude.json',
  '.codex',
  '.gemini',
  '.config/gh',
  '.config/gcloud',
  '.local/share/keyrings',
  '.password-store',
  '.mozilla',
  '.config/google-chrome',
  '.config/chromium',
] as const

/** Of a repository: what is written there would run outside of the sandbox later. */
const GIT_CODE = ['.git/hooks', '.git/config', '.git/modules'] as const

/** The package and the programs that it needs are looked for once. */
export async function findSandbox(): Promise<Sandbox> {
  const found = await import('@anthropic-ai/sandbox-runtime').catch(() => undefined)
  if (!found) return { kind: 'off', why: 'the package @anthropic-ai/sandbox-runtime is not installed' }
  const { SandboxManager } = found
  if (process.platform === 'win32' || !SandboxManager.isSupportedPlatform())
    return { kind: 'off', why: 'there is no sandbox for this system' }
  const { errors } = await SandboxManager.checkDependenciesAsync()
  if (errors.length > 0) return { kind: 'off', why: errors.join('; ').slice(0, 300) }
  const known = new Map<string, Promise<readonly string[]>>()
  return {
    kind: 'on',
    wrapper: async (places) => {
      const config = JSON.stringify(await configOf(places))
      const made = known.get(config) ?? makeWrapper(config)
      known.set(config, made)
      made.catch(() => known.delete(config))
      return await made
    },
  }
}

export const COMMAND_VARIABLE = 'PLUGBOARD_COMMAND'

const LINE = `command=$${COMMAND_VARIABLE}; unset ${COMMAND_VARIABLE}; eval "$command"`
const WRAP_MS = 20_000
const WRAPPER_SCRIPT = `
const [runtime, config, line] = process.argv.slice(1)
const { SandboxManager } = await import(runtime)
const { argv } = await SandboxManager.wrapWithSandboxArgv(line, undefined, JSON.parse(config))
process.stdout.write(JSON.stringify(argv))
`

/**
 * Made once for the same places, in a process of its own: the package also protects files of the folder that its process is in,
 * and would show those that are missing as devices, which `git add` cannot bear.
 */
async function makeWrapper(config: string): Promise<readonly string[]> {
  const runtime = createRequire(import.meta.url).resolve('@anthropic-ai/sandbox-runtime')
  const script = ['--input-type=module', '-e', WRAPPER_SCRIPT, pathToFileURL(runtime).href, config, LINE]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, script, {
      cwd: '/',
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
      timeout: WRAP_MS,
      maxBuffer: 4 * 1024 * 1024,
    })
    return JSON.parse(stdout) as string[]
  } catch (error) {
    throw new WorkspaceError(
      'NOT_STARTED',
      'The sandbox for the command could not be set up.',
      undefined,
      error,
    )
  }
}

async function configOf({ root, home, temporary, hidden, online }: SandboxPlaces) {
  const secret = [...CREDENTIALS.map((name) => join(home, name)), ...hidden]
  return {
    // No proxy is started, so an empty list is no network at all, and no list is the network as it is.
    network: online ? {} : { allowedDomains: [], deniedDomains: [] },
    filesystem: {
      denyRead: await existing(secret),
      allowWrite: [root, temporary],
      denyWrite: await existing(GIT_CODE.map((name) => join(root, name))),
    },
  }
}

/** Only what exists: the wrapper would make the others for the time of the command. */
async function existing(paths: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const path of paths)
    if (await lstat(path).catch(() => undefined)) found.push(await realpath(path).catch(() => path))
  return found
}

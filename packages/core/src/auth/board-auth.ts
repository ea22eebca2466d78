// board-auth.ts: the auth layer as a board uses it: one vault and one needs-auth cache for all of its servers, with
// the settings for single sign-on and machine logins. It reads the secrets that the settings name.
import type { LoginSettings, MachineLogin } from '../config/settings.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { InvalidInput } from '../errors.ts'
import type { Host } from '../host.ts'
import { lazyModule } from '../lazy.ts'
import { type AuthContext, type AuthSettings, isRemote, type MachineSettings, serverKey } from './context.ts'
import { watchLogins } from './needs-auth.ts'
import { lazyVault } from './open-vault.ts'
import { authFor, type BoardAuth } from './request-auth.ts'

export interface Logins {
  readonly context: AuthContext
  auth(server: ConfiguredServer): BoardAuth | undefined
  /** Calls back after every login, in any process, with a way to tell which server it was for. */
  watch(onLogin: (same: (server: ConfiguredServer) => boolean) => void): Promise<() => void>
}

export function loginsFor(place: {
  readonly host: Host
  readonly stateDir: string
  readonly settings?: LoginSettings | undefined
}): Logins {
  const { host, stateDir, settings = {} } = place
  const context: AuthContext = {
    host,
    stateDir,
    vault: lazyVault({ host, stateDir }),
    settings: authSettings(settings, host),
  }
  return {
    context,
    auth: (server) => authFor(server, context),
    watch: (onLogin) =>
      watchLogins(context, (key) => onLogin((server) => isRemote(server) && serverKey(server) === key)),
  }
}

function authSettings({ xaa, machines, clientMetadataUrl }: LoginSettings, host: Host): AuthSettings {
  const known = Object.entries(machines ?? {}).map(([name, machine]) => [
    name,
    machineSettings(name, machine, host),
  ])
  return {
    ...(xaa && { xaa: defined(xaa) }),
    ...(known.length > 0 && { machines: Object.fromEntries(known) }),
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
  }
}

function machineSettings(name: string, machine: MachineLogin, host: Host): MachineSettings {
  const { privateKeyFile, privateKeyEnv, clientSecretEnv, ...rest } = machine
  const fromEnv = (variable: string | undefined) => (variable === undefined ? undefined : host.env[variable])
  const key = privateKeyFile === undefined ? fromEnv(privateKeyEnv) : readKey(name, privateKeyFile, host)
  const clientSecret = fromEnv(clientSecretEnv)
  return { ...defined(rest), ...(key && { privateKey: asKey(key) }), ...(clientSecret && { clientSecret }) }
}

function readKey(name: string, file: string, host: Host): string {
  const path = file.startsWith('~/') ? `${host.home}${file.slice(1)}` : file
  try {
    return lazyModule('node:fs').readFileSync(path, 'utf8')
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw new InvalidInput(`The private key for "${name}" could not be read (${code}).`, {
      server: name,
      stage: 'auth',
      hint: `Check \`logins.machines.${name}.privateKeyFile\`: ${file}`,
      cause: error,
    })
  }
}

/** A JWK is JSON; anything else is taken as PEM. */
function asKey(text: string): NonNullable<MachineSettings['privateKey']> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    // Not JSON, so it is PEM; a fault in it is reported when it is used.
    return text
  }
}

/** Drops members that are undefined, which the settings' types allow and the others do not. */
function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}

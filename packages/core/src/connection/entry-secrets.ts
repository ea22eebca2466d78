// entry-secrets.ts: which values of an entry are secrets, by their names and by their form.
import type { AuthRequest, AuthResponse, Exchange } from '../auth/request-auth.ts'
import type { ServerEntry } from '../config/entry.ts'
import { isSecret } from '../config/mask.ts'
import { isEditorEntry, isRemoteEntry, startsCommand, urlOf } from '../config/transport-traits.ts'
import { KnownSecrets } from '../text/known-secrets.ts'
import type { TransportAuth } from '../transports/open.ts'

/** A generated value: long, without spaces, letters and digits mixed. */
const RANDOM = /^(?=[^\d]*\d)(?=[^A-Za-z]*[A-Za-z])[\w+=.~-]{16,}$/
/** `--token=x`, and the argument after `--token`. */
const FLAG = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s

export function entrySecrets(entry: ServerEntry): KnownSecrets {
  const secrets = new KnownSecrets()
  const named = (values: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(values))
      if (isSecret(name, value) || RANDOM.test(value)) secrets.learn(value)
  }
  if (startsCommand(entry)) {
    named(entry.env)
    for (const value of flagged(entry.args)) secrets.learn(value)
  }
  if (isRemoteEntry(entry) || isEditorEntry(entry)) named(entry.headers)
  const url = urlOf(entry)
  if (url !== undefined && URL.canParse(url)) {
    const { password, searchParams } = new URL(url)
    secrets.learn(decoded(password))
    named(Object.fromEntries(searchParams))
  }
  return secrets
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // Not a valid escape; use the value as it is.
    return text
  }
}

function flagged(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    const [, name, value = args[index + 1]] = FLAG.exec(arg) ?? []
    return name !== undefined && value !== undefined && isSecret(name, value) ? [value] : []
  })
}

/** The same logins; every token and header from them is added to the known secrets. */
export function rememberTokens(
  auth: TransportAuth | undefined,
  secrets: KnownSecrets,
): TransportAuth | undefined {
  if (!auth) return undefined
  const { token, onUnauthorized, send } = auth
  return {
    ...(token && {
      token: async () => {
        const value = await token.call(auth)
        secrets.learn(value)
        return value
      },
    }),
    ...(onUnauthorized && { onUnauthorized: (context) => onUnauthorized.call(auth, context) }),
    ...(send && {
      send: <R extends AuthResponse>(request: AuthRequest, exchange: Exchange<R>) =>
        send.call<TransportAuth, [AuthRequest, Exchange<R>], Promise<R>>(auth, request, (login) => {
          secrets.learn(login['authorization'])
          return exchange(login)
        }),
    }),
  }
}

// header-templates.ts: headers that name the user to a server which the operator chose for it: `${user.email}`. What an identity
// provider says about a user is hostile until checked: a value that could end a header, or is none, is refused.
import { PermissionDenied } from '@plugboard/core/errors'
import type { User } from '../access/access.ts'

/** What a template may name. */
export const USER_FIELDS = ['sub', 'email', 'name', 'issuer'] as const
type UserField = (typeof USER_FIELDS)[number]

const VARIABLE = /\$\{([^}]*)\}/g
/** Printable ASCII that neither begins nor ends with a space. */
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]{0,510}[\x21-\x7e])?$/
const NAME = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/
/** Headers that carry logins, or that the transport sets. */
const RESERVED =
  /^(?:authorization|proxy-.*|cookie|host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept|mcp-.*|dpop|last-event-id)$/i

/** What is wrong with a header of the configuration, as a sentence without its subject. */
export function headerFault(name: string, template: string): string | undefined {
  if (!NAME.test(name)) return 'is not a name of a header'
  if (RESERVED.test(name)) return 'is a header that the gateway sets itself'
  for (const [, variable = ''] of template.matchAll(VARIABLE))
    if (!USER_FIELDS.some((field) => variable === `user.${field}`))
      return `names \${${variable}}; there is ${USER_FIELDS.map((field) => `\${user.${field}}`).join(', ')}`
  return VALUE.test(template) ? undefined : 'is not a value of a header'
}

/** The headers for one user. Throws when one of them cannot be made. */
export function headersFor(
  server: string,
  templates: Readonly<Record<string, string>>,
  user: User,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(templates).map(([name, template]) => [
      name,
      template.replace(VARIABLE, (_, variable: string) =>
        claimValue(server, variable.slice('user.'.length), user),
      ),
    ]),
  )
}

function claimValue(server: string, field: string, user: User): string {
  const { subject, email, name, issuer } = user
  const values: Readonly<Record<UserField, unknown>> = { sub: subject, email, name, issuer }
  const value = Object.hasOwn(values, field) ? values[field as UserField] : undefined
  if (typeof value === 'string' && VALUE.test(value)) return value
  throw new PermissionDenied(
    `"${server}" is told who calls it (user.${field}), and your token ${value === undefined ? 'does not say that' : 'says it in a way that cannot be a header'}.`,
    { server, hint: 'Ask the operator of this gateway.' },
  )
}

// serve token: makes, lists and revokes the named tokens of the gateway. A running gateway notices within a second.
import { stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { nearest } from '@plugboard/core/text/nearest'
import { addNamedToken, type NamedToken } from '@plugboard/gateway'
import {
  gatewayKeys,
  KeyRing,
  openStore,
  Replicas,
  Revocations,
  readLastUses,
  readNamedTokens,
  revokeNamedToken,
  tokenUserKey,
} from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { type GatewayFile, gatewayOption, tokensFile } from '../serve/gateway-file.ts'
import { storeUrl } from '../serve/replicas.ts'

const USAGE = 'Usage: plugboard serve token add NAME [--expires 30d] [--role ROLE] | list | revoke NAME'

type Action = (invocation: Invocation, name: string) => Promise<number>

export async function run(invocation: Invocation): Promise<number> {
  const [, verb = '', name, ...more] = invocation.positionals
  const action = ACTIONS[verb]
  if (!action) {
    const meant = nearest(verb, Object.keys(ACTIONS))
    throw new InvalidInput(
      verb === '' ? 'What to do with the tokens is missing.' : `There is no "serve token ${verb}".`,
      {
        hint: meant ? `Did you mean \`plugboard serve token ${meant}\`? ${USAGE}` : USAGE,
      },
    )
  }
  if (verb === 'list' ? name !== undefined : more.length > 0)
    throw new InvalidInput(`"${verb === 'list' ? name : more[0]}" is not expected here.`, { hint: USAGE })
  if (verb !== 'list' && name === undefined) throw new InvalidInput('NAME is missing.', { hint: USAGE })
  if (verb !== 'add')
    for (const option of ['expires', 'role'])
      if (invocation.option(option) !== undefined)
        throw new InvalidInput(`--${option} belongs to \`serve token add\`.`, { hint: USAGE })
  return await action(invocation, name ?? '')
}

const ACTIONS: Readonly<Record<string, Action>> = { add, list, revoke }

async function add(invocation: Invocation, name: string): Promise<number> {
  const { output, host } = invocation
  const gateway = gatewayOption(invocation)
  const role = invocation.option('role')
  const roles = Object.keys(gateway?.config.roles ?? {})
  if (role !== undefined && gateway === undefined)
    throw new InvalidInput('--role needs the file that defines the roles.', {
      hint: 'Add `--gateway gateway.json`.',
    })
  if (role !== undefined && !roles.includes(role)) {
    const meant = nearest(role, roles)
    throw new InvalidInput(`There is no role "${role}" in ${gateway?.file}.`, {
      hint: meant ? `Did you mean "${meant}"?` : `Its roles: ${roles.join(', ') || 'none'}.`,
    })
  }
  const file = tokensFile(invocation, gateway)
  const { token, entry } = await addNamedToken(
    file,
    { name, role, lifeMs: lifeOption(invocation) },
    host.now(),
  )
  output.result({ name, token, file, ...shown(entry) }, () => token)
  output.note(
    `This is the only time that the token is shown. Clients send it as "Authorization: Bearer TOKEN".${entry.expires === undefined ? '' : ` It expires at ${time(entry.expires)}.`}`,
  )
  return EXIT.done
}

async function list(invocation: Invocation): Promise<number> {
  const { output, host } = invocation
  const file = tokensFile(invocation, gatewayOption(invocation))
  const tokens = await readNamedTokens(file)
  const uses = await readLastUses(file)
  const lastUsed = ({ id }: NamedToken) => uses.get(id)
  output.result(
    {
      file,
      tokens: tokens.map((token) => {
        const used = lastUsed(token)
        return { name: token.name, ...shown(token), ...(used !== undefined && { lastUsed: time(used) }) }
      }),
    },
    () =>
      table(
        tokens.map((token) => {
          const used = lastUsed(token)
          return [
            token.name,
            token.role ?? '-',
            expiry(token, host.now()),
            used === undefined ? 'never used' : `used ${time(used)}`,
          ]
        }),
      ),
  )
  if (tokens.length === 0 && !output.json)
    output.note('There is no token yet: `plugboard serve token add NAME` makes one.')
  return EXIT.done
}

async function revoke(invocation: Invocation, name: string): Promise<number> {
  const gateway = gatewayOption(invocation)
  const file = tokensFile(invocation, gateway)
  const token = (await readNamedTokens(file)).find((one) => one.name === name)
  if (!(await revokeNamedToken(file, name))) {
    const names = (await readNamedTokens(file)).map((token) => token.name)
    const meant = nearest(name, names)
    throw new InvalidInput(`There is no token named "${name}" in ${file}.`, {
      hint: meant ? `Did you mean "${meant}"?` : '`plugboard serve token list` shows them.',
    })
  }
  const isTold = await tellReplicas(invocation, gateway, token)
  if (!isTold)
    invocation.output.note(
      'The store cannot be reached: replicas that do not read this file still accept it.',
    )
  invocation.output.result(
    { revoked: name, file },
    () => `Revoked ${name}. A running gateway refuses it within a second.`,
  )
  return EXIT.done
}

/** Replicas that share a store refuse the token at once, whichever file they read. False when they could not be told. */
async function tellReplicas(
  invocation: Invocation,
  gateway: GatewayFile | undefined,
  token: NamedToken | undefined,
): Promise<boolean> {
  const url = gateway?.config.store === undefined ? undefined : storeUrl(invocation, gateway)
  if (url === undefined || token === undefined) return true
  const { host } = invocation
  const keys = new KeyRing(
    await gatewayKeys({ stateDir: stateFolder(host), env: host.env, now: () => host.now() }),
  )
  const store = await openStore(url)
  const replicas = new Replicas(store, keys, () => host.now())
  try {
    await new Revocations(keys, replicas).add(tokenUserKey(token), token.name)
    return true
  } catch {
    return false
  } finally {
    await replicas.close()
  }
}

function shown({ role, created, expires }: NamedToken) {
  return {
    ...(role !== undefined && { role }),
    created: time(created),
    ...(expires !== undefined && { expires: time(expires) }),
  }
}

function expiry({ expires }: NamedToken, now: number): string {
  if (expires === undefined) return 'no end'
  return `${expires <= now ? 'expired' : 'until'} ${time(expires)}`
}

function time(at: number): string {
  return new Date(at).toISOString()
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

function lifeOption(invocation: Invocation): number | undefined {
  const text = invocation.option('expires')
  if (text === undefined) return undefined
  const [, count = '', unit = ''] = /^(\d{1,5})([mhdw])$/.exec(text) ?? []
  const ms = Number(count) * (UNITS_MS[unit] ?? 0)
  if (ms > 0) return ms
  throw new InvalidInput(`--expires "${text}" is not a time.`, {
    hint: 'Give a number and m, h, d or w, as in `--expires 30d`.',
  })
}

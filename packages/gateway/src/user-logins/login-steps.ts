// login-steps.ts: what happens on the pages of a login: for whom it is, who the browser's user is where that can be checked, the
// visit at the authorization server, and its end. login-pages.ts draws the pages.
import { isPlugboardError } from '@plugboard/core'
import {
  AuthRefused,
  beginIdentityCheck,
  beginWebLogin,
  type ClientIdentity,
  finishIdentityCheck,
  finishWebLogin,
  rememberNeedsAuth,
  serverKey,
  usesSingleSignOn,
  type XaaSettings,
} from '@plugboard/core/auth'
import { visible } from '@plugboard/core/text/escape-controls'
import type { User } from '../access/access.ts'
import { isObject } from '../json-rpc.ts'
import type { LoginAttempt, LoginVisit } from './login-attempts.ts'
import { callbackUrl, type LoginPage, LoginPages, type LoginSteps } from './login-pages.ts'
import type { UserLogins } from './user-logins.ts'

const CLIENTS = 'login-clients'
const CLIENT_LIFE_MS = 90 * 24 * 60 * 60 * 1000
/** After so many visits in a row from which no login came, a registration that is older than this is made anew. */
const UNANSWERED = 10
const DOUBTED_MS = 60 * 60 * 1000

const EXPIRED: LoginPage = {
  status: 410,
  title: 'This address is not valid any more',
  lines: [
    'It has expired, or is not one of this gateway. Make the call again in your client to get a new one.',
  ],
}
const NOT_OURS: LoginPage = {
  status: 400,
  title: 'This login cannot be finished',
  lines: [
    'It was finished before, has expired, or was begun in another browser. Nothing was saved.',
    'Make the call again in your client, and open the address in the browser in which you log in.',
  ],
}
const DONE: LoginPage = {
  status: 200,
  title: 'You are logged in',
  lines: ['This login is finished. You can close this page and go back to your client.'],
}

/** The pages, where there are servers to log in to. */
export function loginPages(logins: UserLogins | undefined): LoginPages | undefined {
  return logins && new LoginPages({ publicUrl: logins.options.publicUrl, steps: loginSteps(logins) })
}

function loginSteps(logins: UserLogins): LoginSteps {
  const { attempts } = logins
  return {
    show: async (ticket) => {
      const attempt = attempts.openTicket(ticket)
      if (!attempt || !logins.asks(attempt.server)) return EXPIRED
      return (await attempts.outcome(attempt))?.ok
        ? DONE
        : askPage(attempt, ticket, new URL(logins.options.publicUrl).host)
    },
    start: async (ticket, cookie) => {
      const attempt = attempts.openTicket(ticket)
      if (!attempt || !logins.asks(attempt.server)) return EXPIRED
      if ((await attempts.outcome(attempt))?.ok) return DONE
      const check = identityCheck(logins, attempt)
      return await guarded(logins, attempt, () =>
        check ? departToCheck(logins, attempt, check, cookie) : departToLogin(logins, attempt, cookie),
      )
    },
    back: async (answer, cookie) => {
      const visit = await attempts.arrive(answer.get('state'), cookie)
      if (!visit || cookie === undefined || !logins.asks(visit.attempt.server)) return NOT_OURS
      return await guarded(logins, visit.attempt, () => arrived(logins, visit, answer, cookie))
    },
  }
}

function askPage({ server, user }: LoginAttempt, ticket: string, gateway: string): LoginPage {
  const [name, shown] = [visible(user.name), visible(server)]
  return {
    status: 200,
    title: `Log in to "${shown}" for ${name}`,
    lines: [
      whoIs(user),
      `The user ${name} of the gateway ${gateway} will be able to use what you log in with on the next page.`,
      `Go on only if you are ${name} and your own client gave you this address. If another person sent it to you, close this page: that person would get access to your account.`,
    ],
    form: { ticket, button: `I am ${name}: log in to ${shown}` },
  }
}

/** Several users can have one name: what else is known of the user tells them apart. */
function whoIs({ name, email, issuer, subject, key }: User): string {
  const known =
    issuer === undefined || subject === undefined
      ? [`the token with the key ${key.slice(0, 12)}`]
      : [...(email === undefined ? [] : [visible(email)]), `${visible(subject)} at ${visible(issuer)}`]
  return `This login is for the user ${visible(name)}: ${known.join(', ')}.`
}

/** The identity provider that can say who the user of this browser is. Single sign-on at the same provider says it itself. */
function identityCheck(logins: UserLogins, { user, server }: LoginAttempt): XaaSettings | undefined {
  const found = logins.config.verify?.find(({ issuer }) => issuer === user.issuer)
  if (!found || user.subject === undefined) return undefined
  const isItself =
    usesSingleSignOn(logins.configured(server)) &&
    logins.options.operator.settings?.xaa?.issuer === found.issuer
  if (isItself) return undefined
  const { issuer, clientId, clientSecretEnv } = found
  const clientSecret = clientSecretEnv === undefined ? undefined : logins.options.host.env[clientSecretEnv]
  return { issuer, clientId, ...(clientSecret && { clientSecret }) }
}

function expectedUser({ user }: LoginAttempt) {
  const { issuer, subject } = user
  return issuer === undefined || subject === undefined ? undefined : { issuer, subject }
}

async function departToCheck(
  logins: UserLogins,
  attempt: LoginAttempt,
  check: XaaSettings,
  cookie: string,
): Promise<URL> {
  const redirectUri = callbackUrl(logins.options.publicUrl)
  let url = ''
  await logins.attempts.depart(attempt, cookie, async (state) => {
    const context = logins.contextOf(attempt.user)
    const to = { redirectUri, state }
    const begun = await beginIdentityCheck(logins.configured(attempt.server), context, check, to)
    url = begun.url
    return { step: 'identity', pending: begun.pending }
  })
  return new URL(url)
}

async function departToLogin(logins: UserLogins, attempt: LoginAttempt, cookie: string): Promise<URL> {
  const server = logins.configured(attempt.server)
  const context = logins.contextOf(attempt.user)
  const redirectUri = callbackUrl(logins.options.publicUrl)
  const place = `${serverKey(server)} ${redirectUri}`
  // Another replica may have got the challenge.
  if (attempt.challenge) await rememberNeedsAuth(server, context, attempt.challenge)
  const known = await knownClient(logins, place)
  await logins.attempts.departed(place)
  let url = ''
  await logins.attempts.depart(attempt, cookie, async (state) => {
    const begun = await beginWebLogin(server, context, { redirectUri, state }, known)
    url = begun.url
    if (begun.registered && begun.registered.clientId !== known?.client.clientId)
      await keepClient(logins, place, begun.pending.as.issuer, begun.registered)
    return { step: 'login', pending: begun.pending }
  })
  return new URL(url)
}

async function arrived(
  logins: UserLogins,
  { attempt, step, pending }: LoginVisit,
  answer: URLSearchParams,
  cookie: string,
): Promise<LoginPage | URL> {
  const server = logins.configured(attempt.server)
  const context = logins.contextOf(attempt.user)
  const expected = expectedUser(attempt)
  // A login that was finished is not replaced by a visit that began before.
  if ((await logins.attempts.outcome(attempt))?.ok) return NOT_OURS
  // The seal of the state was checked.
  const state = answer.get('state') ?? ''
  if (step === 'identity') {
    const check = identityCheck(logins, attempt)
    if (!check || !expected || pending.kind !== 'idp') return NOT_OURS
    await finishIdentityCheck(server, context, check, pending, answer, state, expected)
    return await departToLogin(logins, attempt, cookie)
  }
  const place = `${serverKey(server)} ${pending.redirectUri}`
  try {
    await finishWebLogin(server, context, pending, answer, state, expected)
  } catch (error) {
    // A registration that the server forgot is made anew next time. Only the server's own word counts: what comes with the
    // browser, any user can write, and one registration serves all.
    if (error instanceof AuthRefused && error.refusal === 'client-refused') await forgetClient(logins, place)
    throw error
  }
  await logins.attempts.answered(place)
  await logins.attempts.finish(attempt, { ok: true })
  await logins.changed(attempt)
  const [name, shown] = [visible(attempt.user.name), visible(attempt.server)]
  return {
    status: 200,
    title: `${name} is logged in to "${shown}"`,
    lines: [
      `From now on the gateway uses this login for calls of ${name}, and for no other user.`,
      'You can close this page and go back to your client.',
    ],
  }
}

/** What fails is told on the page and to the call that waits. */
async function guarded(
  logins: UserLogins,
  attempt: LoginAttempt,
  work: () => Promise<LoginPage | URL>,
): Promise<LoginPage | URL> {
  try {
    return await work()
  } catch (error) {
    const reason = isPlugboardError(error) ? error.message : 'The gateway could not finish it.'
    await logins.attempts.finish(attempt, { ok: false, reason }).catch(() => undefined)
    await logins.changed(attempt).catch(() => undefined)
    return {
      status: 502,
      title: 'The login did not go through',
      lines: [reason, 'Nothing was saved. Make the call again in your client to get a new address.'],
    }
  }
}

/** One registration at an authorization server serves all users. */
async function knownClient(logins: UserLogins, place: string) {
  const text = (await logins.fields.fields(CLIENTS)).get(place)
  const value = logins.options.loginKeys.open(`login-client\n${place}`, text)
  if (!isObject(value) || typeof value.issuer !== 'string' || !isObject(value.client)) return undefined
  // Some servers show a page of their own for a client that they forgot, and send no browser back.
  const isOld = logins.options.host.now() - Number(value.at ?? 0) > DOUBTED_MS
  if (isOld && (await logins.attempts.unanswered(place)) >= UNANSWERED) return undefined
  // It was sealed here or by a process that shares our keys.
  return { issuer: value.issuer, client: value.client as unknown as ClientIdentity }
}

async function keepClient(logins: UserLogins, place: string, issuer: string, client: ClientIdentity) {
  const at = logins.options.host.now()
  const sealed = logins.options.loginKeys.seal(`login-client\n${place}`, { issuer, client, at })
  await logins.fields.setField(CLIENTS, place, sealed, CLIENT_LIFE_MS)
  await logins.attempts.answered(place)
}

async function forgetClient(logins: UserLogins, place: string): Promise<void> {
  await logins.fields.deleteField(CLIENTS, place).catch(() => undefined)
}

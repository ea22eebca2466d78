// load.ts: what is done to the board and its servers: calls by many callers, and one fault after the other.
// Every choice is drawn from the seed, by generators of their own, so that a seed makes the same choices in the same order.
import { setTimeout as pause } from 'node:timers/promises'
import { isPlugboardError, type LocalBoard } from '@plugboard/core'
import { withinMs } from '../kit.ts'
import type { LinePlan } from '../lab.ts'
import type { Ledger } from './ledger.ts'
import type { Random } from './random.ts'
import type { Member, Servers } from './servers.ts'
import type { Watch } from './watch.ts'

/** No call may be open longer, whatever happens to its server: two connects with all their attempts, and its own time. */
export const SETTLE_MS = 60_000
const EXPECTED = new Set(
  'INIT_ERROR IO_ERROR TIMEOUT OUTCOME_UNKNOWN CANCELLED TOOL_NOT_FOUND SERVER_NOT_FOUND DISABLED'.split(' '),
)

export interface Soak {
  readonly board: LocalBoard
  readonly servers: Servers
  readonly ledger: Ledger
  readonly watch: Watch
  readonly outcomes: Map<string, number>
  readonly troubles: Map<string, number>
  violation(text: string): void
  over(): boolean
}

export const count = (of: Map<string, number>, key: string) => void of.set(key, (of.get(key) ?? 0) + 1)

/** One caller: call after call, until the run ends. */
export async function caller(soak: Soak, random: Random, me: number): Promise<void> {
  for (let n = 0; !soak.over(); n++) {
    await oneCall(soak, random, `${me}.${n}`)
    await pause(random.below(15))
  }
}

async function oneCall(soak: Soak, random: Random, nonce: string): Promise<void> {
  const { name } = random.pick(soak.servers.members)
  const tool = random.pick(['echo', 'echo', 'write', 'wait'])
  // Now and then longer than the entry allows.
  const ms = tool === 'wait' ? random.below(random.chance(0.02) ? 4000 : 120) : 0
  const giveUpAfter = random.chance(0.1) ? random.below(60) : undefined
  const stop = new AbortController()
  const timer = giveUpAfter === undefined ? undefined : setTimeout(() => stop.abort(), giveUpAfter)
  if (tool === 'write') soak.ledger.asked(nonce)
  const call = answered(soak, `${name}.${tool}`, { nonce, ms }, name, stop.signal)
  const outcome = await withinMs(SETTLE_MS, `${tool} ${nonce} of ${name}`, call).catch((error: Error) => {
    soak.violation(`lost: ${error.message}`)
    return 'lost'
  })
  clearTimeout(timer)
  if (tool === 'write') soak.ledger.settled(nonce, outcome)
  count(soak.outcomes, outcome)
}

async function answered(
  soak: Soak,
  tool: string,
  args: { readonly nonce: string; readonly ms: number },
  name: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { content } = await soak.board.call(tool, args, { signal })
    const [first] = content
    const said = first?.type === 'text' ? JSON.parse(first.text) : {}
    if (said.by !== name || said.nonce !== args.nonce)
      soak.violation(`crossed: ${tool} ${args.nonce} was answered with ${JSON.stringify(said)}`)
    return 'ok'
  } catch (error) {
    if (!isPlugboardError(error)) {
      soak.violation(`an error that is not of the family: ${String(error)}`)
      return 'foreign'
    }
    if (!EXPECTED.has(error.code))
      soak.violation(`${tool} ended with ${error.code}: ${error.message.slice(0, 200)}`)
    return error.code
  }
}

type Trouble = (soak: Soak, member: Member, random: Random) => Promise<void> | void

/** A connection that is bad for a while, and good again afterwards. */
const line =
  (plan: LinePlan): Trouble =>
  async (_soak, { peer }, random) => {
    await peer?.line(plan)
    setTimeout(() => void peer?.line({ mode: 'good' }).catch(() => undefined), 100 + random.below(600))
  }

const REMOTE: Readonly<Record<string, Trouble>> = {
  cut: line({ mode: 'cut', bytes: 10, times: 1 }),
  reset: line({ mode: 'reset', bytes: 40, times: 1 }),
  'reset on request': line({ mode: 'reset-on-request', times: 1 }),
  stall: line({ mode: 'stall' }),
  'half-open': line({ mode: 'half-open' }),
  delay: line({ mode: 'delay', ms: 120 }),
  trickle: line({ mode: 'trickle' }),
  garbage: line({ mode: 'garbage', times: 1 }),
  'bad gateway': line({ mode: 'bad-gateway', times: 1 }),
  refuse: line({ mode: 'refuse' }),
  drop: (_soak, { peer }) => peer?.drop(),
}

const LOCAL: Readonly<Record<string, Trouble>> = {
  kill: ({ servers }, member) => signal(servers.pid(member), 'SIGKILL'),
  terminate: ({ servers }, member) => signal(servers.pid(member), 'SIGTERM'),
  freeze: ({ servers }, member, random) => {
    const pid = servers.pid(member)
    signal(pid, 'SIGSTOP')
    setTimeout(() => signal(pid, 'SIGCONT'), 100 + random.below(500))
  },
}

const INSIDE: Readonly<Record<string, Trouble>> = {
  'hang up': ({ servers }, { name }) => servers.hangUp(name),
}

const OURS: Readonly<Record<string, Trouble>> = {
  reconnect: ({ board }, { name }) => {
    // A server that was removed from the configuration cannot be chosen.
    void board.reconnect(name).catch(() => undefined)
  },
  'change entry': (soak, { name }) => {
    soak.servers.change(name)
    return applied(soak, name)
  },
  'switch off or on': (soak, { name }) => {
    toggle(soak.servers.off, name)
    return applied(soak, name)
  },
  'take away or bring back': (soak, { name }) => {
    toggle(soak.servers.away, name)
    return applied(soak, name)
  },
}

function signal(pid: number | undefined, name: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, name)
  } catch {
    // It ended by itself meanwhile.
  }
}

function toggle(set: Set<string>, name: string): void {
  if (!set.delete(name)) set.add(name)
}

async function applied({ board, servers, watch }: Soak, name: string): Promise<void> {
  watch.forget(name)
  await board.link.apply(servers.configured())
  watch.forget(name)
}

/** One fault after the other; failed servers are tried again. */
export async function troublemaker(soak: Soak, random: Random): Promise<void> {
  while (!soak.over()) {
    const member = random.pick(soak.servers.members)
    const own = member.peer ? REMOTE : member.kind === 'stdio' ? LOCAL : INSIDE
    const ours = member.kind !== 'inside' && random.chance(0.3)
    const [name, trouble] = random.pick(Object.entries(ours ? OURS : own))
    count(soak.troubles, name)
    await withinMs(SETTLE_MS, `the trouble "${name}"`, Promise.resolve(trouble(soak, member, random))).catch(
      (error: Error) => soak.violation(error.message),
    )
    await pause(40 + random.below(160))
    for (const { name: failed, state } of soak.board.servers())
      if (state === 'failed' && random.chance(0.1)) void soak.board.reconnect(failed).catch(() => undefined)
    // What was disabled or removed comes back after a while.
    for (const set of [soak.servers.off, soak.servers.away])
      if (set.size > 3) {
        const [first] = set
        if (first === undefined) continue
        set.delete(first)
        await applied(soak, first)
      }
  }
}

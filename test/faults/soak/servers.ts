// servers.ts: fifty servers of every transport and both eras, what can be done to each, and their configuration as the board
// should have it.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfiguredServer, InProcessServer, ServerEntry } from '@plugboard/core'
import { isRunning } from '../kit.ts'
import type { Lab, RemoteKind, RemotePeer } from '../lab.ts'
import { insideServer } from '../neighbours.ts'
import { pidsIn } from './ledger.ts'

export const COUNTS = { stdio: 8, http: 14, sse: 8, ws: 8, inside: 12 } as const
type ServerKind = keyof typeof COUNTS

export interface Member {
  readonly name: string
  readonly kind: ServerKind
  readonly dir: string
  readonly peer?: RemotePeer
  /** Missing for those inside the process, which the board lists by itself. */
  readonly entry?: ServerEntry
}

interface Wanted {
  readonly kind: ServerKind
  readonly name: string
  readonly dir: string
  readonly behaviour: string
}

const COMMON = { timeout: 1500, reconnect: { maxAttempts: 4, delayMs: 30 } }
const hints = { echo: { readOnlyHint: true }, wait: { readOnlyHint: true }, write: {} }
const TOOLS = Object.entries(hints).map(([name, annotations]) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  annotations,
}))

export class Servers {
  readonly members: Member[] = []
  readonly inProcess: Record<string, InProcessServer> = {}
  readonly off = new Set<string>()
  readonly away = new Set<string>()
  readonly #changed = new Map<string, number>()
  readonly #ends = new Map<string, { close(): Promise<void> }>()

  static async open(root: string, home: string, lab: Lab, ran: (line: string) => void): Promise<Servers> {
    const servers = new Servers()
    for (const [kind, count] of Object.entries(COUNTS))
      for (let i = 0; i < count; i++) {
        const name = `${kind}${i}`
        const dir = join(home, name)
        mkdirSync(dir)
        // The keys of COUNTS are the kinds.
        const wanted = { kind: kind as ServerKind, name, dir, behaviour: behaviourOf(kind, i) }
        if (wanted.kind === 'inside') servers.#addInside(wanted, ran)
        else servers.members.push(await started(wanted, root, lab))
      }
    return servers
  }

  #addInside({ kind, name, dir }: Wanted, ran: (line: string) => void): void {
    const serve = insideServer(async (tool, args) => {
      if (tool === 'write') ran(`write ${String(args['nonce'])}`)
      if (typeof args['ms'] === 'number') await new Promise((done) => setTimeout(done, Number(args['ms'])))
      return JSON.stringify({ by: name, ...args })
    }, TOOLS)
    this.inProcess[name] = (end) => {
      this.#ends.set(name, end)
      return serve(end)
    }
    this.members.push({ name, kind, dir })
  }

  /** What the configuration says now. */
  configured(): ConfiguredServer[] {
    return this.members.flatMap(({ name, entry }) => {
      if (!entry || this.away.has(name)) return []
      const changed = { ...entry, timeout: COMMON.timeout + (this.#changed.get(name) ?? 0) }
      return [
        {
          name,
          scope: 'dynamic',
          source: 'soak',
          entry: changed,
          signature: JSON.stringify(changed),
          ...(this.off.has(name) && {
            disabled: { kind: 'user', text: 'switched off by the soak' } as const,
          }),
        },
      ]
    })
  }

  /** The entry is different from now on, so that the board has to restart the server. */
  change(name: string): void {
    this.#changed.set(name, ((this.#changed.get(name) ?? 0) + 1) % 100)
  }

  /** Ends the linked pair from the server's side. */
  async hangUp(name: string): Promise<void> {
    await this.#ends.get(name)?.close()
  }

  /** The serving process, if there is one. */
  pid(member: Member): number | undefined {
    return runningIn(member.dir).at(-1)
  }

  processes(): number[] {
    return this.members.flatMap(({ dir }) => runningIn(dir))
  }
}

async function started({ kind, name, dir, behaviour }: Wanted, root: string, lab: Lab): Promise<Member> {
  if (kind === 'stdio') {
    const args = [join(root, 'test/faults/peers/stdio.mjs'), behaviour, dir, name]
    return { name, kind, dir, entry: { ...COMMON, type: 'stdio', command: process.execPath, args, env: {} } }
  }
  // What is left are the kinds that live in the lab.
  const remote = kind as RemoteKind
  const peer = await lab.open(remote, behaviour, dir, name)
  return { name, kind, dir, peer, entry: { ...COMMON, type: remote, url: peer.url, headers: {} } }
}

/** Pids are reused: only processes that were started for this folder count. */
function runningIn(dir: string): number[] {
  return pidsIn(dir).filter((pid) => isRunning(pid, dir))
}

/** Half of those that can speak 2026-07-28 do. */
function behaviourOf(kind: string, at: number): string {
  return (kind === 'stdio' || kind === 'http') && at % 2 === 1 ? 'modern/soak' : 'soak'
}

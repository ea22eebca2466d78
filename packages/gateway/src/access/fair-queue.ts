// fair-queue.ts: the order in which requests of different owners are started. In each turn of the event loop a limited number
// is started, one of each owner in rotation; and while several owners are active, one that sends many at a time has only
// some of them running. So an owner waits for itself, not for the others.
import { type Linked, LinkedSet } from '@plugboard/core/async/linked-set'

/** Enough to keep the servers busy, and few enough that one turn of the event loop stays short. */
const STARTS_PER_TURN = 64
/** What one owner has running at a time while others are active. */
const RUNNING_PER_OWNER = 16
/** A request that takes longer waits for something else than this process, and no longer counts. */
const COUNTS_MS = 250
/** An owner that sent nothing for this long is not active. */
const ACTIVE_MS = 1000

interface Running extends Linked<Running> {
  readonly since: number
}

interface Owner extends Linked<Owner> {
  /** Oldest first, from `next` on. */
  works: (() => Promise<unknown> | undefined)[]
  next: number
  readonly running: LinkedSet<Running>
  lastSeen: number
}

export class FairQueue {
  readonly #owners = new Map<string, Owner>()
  /** Owners with waiting work; the one whose turn is next comes first. */
  readonly #rotation = new LinkedSet<Owner>()
  #scheduled = false
  #retry: NodeJS.Timeout | undefined
  #contended = false
  #lastLook = 0

  /**
   * Starts the work after what has arrived by now was read: requests that arrive together are started together, and what
   * they send to one server is written at once. Work of one owner keeps its order.
   */
  run(owner: string, work: () => Promise<unknown> | undefined): void {
    let state = this.#owners.get(owner)
    if (!state) {
      state = { works: [], next: 0, running: new LinkedSet(), lastSeen: 0 }
      this.#owners.set(owner, state)
      this.#contended = this.#owners.size > 1
    }
    state.works.push(work)
    this.#rotation.add(state)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#turn())
  }

  #turn(): void {
    this.#scheduled = false
    const now = Date.now()
    if (this.#contended && now - this.#lastLook >= ACTIVE_MS / 4) this.#forgetIdle(now)
    for (let left = STARTS_PER_TURN; left > 0; left--) {
      const owner = this.#nextOwner(now)
      if (!owner) return
      this.#start(owner, now)
    }
    if (this.#rotation.size > 0) this.#schedule()
  }

  /** The first owner in the rotation that may start something; those before it wait for their own requests. */
  #nextOwner(now: number): Owner | undefined {
    for (let owner = this.#rotation.first; owner; owner = owner.after) {
      if (!this.#contended || owner.running.size < RUNNING_PER_OWNER || this.#dropSlow(owner, now))
        return owner
    }
    if (this.#rotation.size > 0 && !this.#retry)
      this.#retry = setTimeout(() => {
        this.#retry = undefined
        this.#schedule()
      }, COUNTS_MS / 5).unref()
    return undefined
  }

  #start(owner: Owner, now: number): void {
    const work = owner.works[owner.next++]
    this.#rotation.delete(owner)
    if (owner.next < owner.works.length) this.#rotation.add(owner)
    else {
      owner.works = []
      owner.next = 0
    }
    owner.lastSeen = now
    const done = work?.()
    if (!this.#contended || !done) return
    const running: Running = { since: now }
    owner.running.add(running)
    const ended = () => {
      if (owner.running.delete(running) && this.#rotation.has(owner)) this.#schedule()
    }
    done.then(ended, ended)
  }

  /** True when one of the running requests is so slow that it no longer counts. */
  #dropSlow(owner: Owner, now: number): boolean {
    for (const running of owner.running.list()) {
      if (Math.abs(now - running.since) < COUNTS_MS) break
      owner.running.delete(running)
    }
    return owner.running.size < RUNNING_PER_OWNER
  }

  #forgetIdle(now: number): void {
    this.#lastLook = now
    for (const [name, owner] of this.#owners)
      if (!this.#rotation.has(owner) && now - owner.lastSeen >= ACTIVE_MS) this.#owners.delete(name)
    this.#contended = this.#owners.size > 1
  }
}

// task-store.ts: the tasks of all clients, each for its owner only: how many there may be, how long they are kept, and what makes
// room. What a task is and how it is told is client-task.ts.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { UNRESTRICTED } from '../access/access.ts'
import type { Client } from '../client-request.ts'
import { ClientTask, type TaskWork } from './client-task.ts'

const REPLICA_TASK = /^([0-9a-f]{12})\./

/** The replica that has the task. */
export function replicaOfTask(taskId: unknown): string | undefined {
  return typeof taskId === 'string' ? REPLICA_TASK.exec(taskId)?.[1] : undefined
}

export class TaskStore {
  readonly #replica: string | undefined
  /** The oldest first. */
  readonly #tasks = new Map<string, { readonly task: ClientTask; readonly timer: NodeJS.Timeout }>()

  constructor(replica?: string) {
    this.#replica = replica
  }

  /** Undefined when there is no room: then the client waits for the result itself. */
  add(work: TaskWork, ttlMs: number = GATEWAY_LIMITS.taskMs): ClientTask | undefined {
    if (!this.#makeRoom(work.client.owner)) return undefined
    const task = new ClientTask(work, Math.min(Math.max(ttlMs, 1), GATEWAY_LIMITS.taskMs), this.#replica)
    const timer = setTimeout(() => this.#drop(task), task.ttlMs)
    timer.unref()
    this.#tasks.set(task.id, { task, timer })
    return task
  }

  /** A task of another owner is as unknown as none. */
  find(taskId: unknown, { owner, era }: Pick<Client, 'owner' | 'era'>): ClientTask | undefined {
    const task = typeof taskId === 'string' ? this.#tasks.get(taskId)?.task : undefined
    return task?.work.client.owner === owner && task.work.client.era === era ? task : undefined
  }

  /** Clients without a token share one owner: each is listed its own. */
  listFor({ owner, era, id }: Client, isShared: boolean): readonly ClientTask[] {
    return [...this.#tasks.values()]
      .map(({ task }) => task)
      .filter(({ work: { client } }) => client.owner === owner && client.era === era)
      .filter(({ work: { client } }) => !isShared || client.id === id)
  }

  /** Stops the tasks of an owner that lost access. */
  dropOwner(owner: string): void {
    for (const { task } of [...this.#tasks.values()]) if (task.work.client.owner === owner) this.#drop(task)
  }

  close(): void {
    for (const { task } of [...this.#tasks.values()]) this.#drop(task)
  }

  /** What is over makes room, the oldest first; what runs does not. */
  #makeRoom(owner: string): boolean {
    const all = [...this.#tasks.values()].map(({ task }) => task)
    const own = all.filter(({ work }) => work.client.owner === owner)
    const evict = (from: readonly ClientTask[]) => {
      const over = from.find(({ isOver }) => isOver)
      if (over) this.#drop(over)
      return over !== undefined
    }
    this.#boundKept(all)
    // Clients without a token share one owner, and may be many.
    if (owner !== UNRESTRICTED && own.length >= GATEWAY_LIMITS.tasksPerOwner && !evict(own)) return false
    return this.#tasks.size < GATEWAY_LIMITS.tasks || evict(all)
  }

  #boundKept(all: readonly ClientTask[]): void {
    let chars = 0
    for (const task of [...all].reverse()) {
      chars += task.keptChars
      if (chars > GATEWAY_LIMITS.taskChars && task.isOver) this.#drop(task)
    }
  }

  #drop(task: ClientTask): void {
    const kept = this.#tasks.get(task.id)
    if (!kept) return
    clearTimeout(kept.timer)
    this.#tasks.delete(task.id)
    task.cancel()
  }
}

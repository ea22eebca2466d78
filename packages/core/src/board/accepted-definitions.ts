// accepted-definitions.ts: which tool definitions the user accepted, in memory and in the state folder. A definition
// is accepted when a call to it is first allowed; one that changed later needs permission again. tools/tools-lock.ts
// compares them.
import type { AcceptedTools, BoundTool, LockFile, ToolChange } from '../tools/index.ts'
import { accept, readLock, toolChanges, updateLock } from '../tools/tools-lock.ts'

export class AcceptedDefinitions implements AcceptedTools {
  readonly #path: string
  readonly #onError: (error: unknown) => void
  /** Compared once: a definition that changes is another object. */
  readonly #same = new WeakSet<object>()
  /** Definitions that no record knows, with the records that were read: nothing of them has changed either. */
  readonly #unknown = new WeakMap<object, Promise<LockFile>>()
  #lock: Promise<LockFile> | undefined
  #waiting = new Map<string, Map<string, BoundTool>>()
  #writing: Promise<void> | undefined

  constructor(path: string, onError: (error: unknown) => void) {
    this.#path = path
    this.#onError = onError
  }

  changes(tool: BoundTool): undefined | Promise<readonly string[] | undefined> {
    const { definition } = tool
    if (this.#same.has(definition)) return undefined
    const read = this.#unknown.get(definition)
    return read !== undefined && read === this.#lock ? undefined : this.#compare(tool)
  }

  /** Accepts the current definition; the file is written soon after. */
  accept(tool: BoundTool): void {
    if (this.#same.has(tool.definition)) return
    this.#same.add(tool.definition)
    const tools = this.#waiting.get(tool.server) ?? new Map<string, BoundTool>()
    tools.set(tool.definition.name, tool)
    this.#waiting.set(tool.server, tools)
    this.#writing ??= this.#write()
  }

  /** What of one server's accepted tools is different now, or gone. Tools that were never used are not reported. */
  async review(server: string, tools: readonly BoundTool[]): Promise<readonly ToolChange[]> {
    await this.flush()
    const changes = toolChanges(await this.#read(), server, definitions(tools))
    return changes.filter(({ kind }) => kind !== 'added')
  }

  /** Accepts all of a server's current tools, and forgets those it no longer has. */
  async acceptAll(server: string, tools: readonly BoundTool[]): Promise<void> {
    await this.flush()
    const written = updateLock(this.#path, (lock) => accept(lock, server, definitions(tools)))
    await written
    this.#lock = written
    for (const { definition } of tools) this.#same.add(definition)
  }

  async flush(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  async #compare(tool: BoundTool): Promise<readonly string[] | undefined> {
    const read = this.#read()
    const changes = toolChanges(await read, tool.server, [tool.definition])
    const changed = changes.find(
      ({ kind, tool: name }) => kind === 'changed' && name === tool.definition.name,
    )
    if (changed?.kind === 'changed') return changed.lines
    // Known and the same; an unknown one is recorded when it is first allowed.
    if (!changes.some(({ kind }) => kind === 'added') && (await this.#knows(tool)))
      this.#same.add(tool.definition)
    else if (this.#lock === read) this.#unknown.set(tool.definition, read)
    return undefined
  }

  async #knows(tool: BoundTool): Promise<boolean> {
    const { servers } = await this.#read()
    const accepted = Object.hasOwn(servers, tool.server) ? servers[tool.server] : undefined
    return accepted !== undefined && Object.hasOwn(accepted, tool.definition.name)
  }

  #read(): Promise<LockFile> {
    this.#lock ??= readLock(this.#path).catch((error) => {
      this.#lock = undefined
      throw error
    })
    return this.#lock
  }

  async #write(): Promise<void> {
    // Calls close together share one write.
    await new Promise((done) => setImmediate(done))
    try {
      while (this.#waiting.size > 0) {
        const batch = this.#waiting
        this.#waiting = new Map()
        const written = updateLock(this.#path, (lock) => withAccepted(lock, batch))
        await written
        this.#lock = written
      }
    } catch (error) {
      this.#onError(error)
    } finally {
      this.#writing = undefined
    }
  }
}

/** `accept` forgets tools that are not in its list; those accepted before stay. */
function withAccepted(lock: LockFile, batch: ReadonlyMap<string, ReadonlyMap<string, BoundTool>>): LockFile {
  let next = lock
  for (const [server, tools] of batch) {
    const before = Object.hasOwn(lock.servers, server) ? (lock.servers[server] ?? {}) : {}
    const fresh = accept(next, server, definitions([...tools.values()])).servers[server] ?? {}
    next = { version: 1, servers: { ...next.servers, [server]: { ...before, ...fresh } } }
  }
  return next
}

function definitions(tools: readonly BoundTool[]) {
  return tools.map(({ definition }) => definition)
}

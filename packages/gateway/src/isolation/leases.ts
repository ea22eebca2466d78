// leases.ts: what isolation/ needs to know where several replicas run: which of them has the instance of a user. replicas/ keeps the leases.

export interface Leases {
  /** The replica that has the instance, when it is another one. Undefined: this one has it now, or it is not known which. */
  elsewhere(key: string): string | undefined | Promise<string | undefined>
  /** Rejects when this replica may not run the instance. Undefined: it may. */
  claim(server: string, key: string): undefined | Promise<void>
  /** The instance has ended here. */
  release(key: string): void
  /** `ended` is called for an instance that this replica may no longer run. */
  onLost(ended: (key: string) => void): void
}

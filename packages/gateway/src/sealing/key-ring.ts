// key-ring.ts: values that travel through a client and come back unread and unchanged (session ids, requestState): sealed with
// AES-256-GCM under a ring of keys, of which one seals and all open. key-store.ts knows where keys are kept.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { isObject, type Json } from '../json-rpc.ts'

export interface SealKey {
  /** Names the key in what it sealed. */
  readonly kid: string
  /** 32 bytes. */
  readonly key: Buffer
}

const IV_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const SEALED = /^([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+)$/

/** Seals what a client keeps for us, such as a session id. The first key seals, every key opens. */
export class KeyRing {
  #keys: readonly SealKey[] = []

  /** The first key seals; every key opens. */
  constructor(keys: readonly SealKey[]) {
    this.replace(keys)
  }

  /** A ring that dies with the process: what it sealed is worthless afterwards. */
  static ephemeral(): KeyRing {
    return new KeyRing([freshKey()])
  }

  replace(keys: readonly SealKey[]): void {
    if (keys.length === 0) throw new RangeError('A key ring has at least one key.')
    for (const { kid, key } of keys)
      if (key.length !== KEY_BYTES) throw new RangeError(`The key "${kid}" does not have ${KEY_BYTES} bytes.`)
    this.#keys = keys
  }

  /** `purpose` keeps a value of one kind from being accepted as another. */
  seal(purpose: string, value: Json): string {
    const [first] = this.#keys
    if (!first) throw new RangeError('A key ring has at least one key.')
    const { kid, key } = first
    const iv = randomBytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(bound(purpose, kid))
    const body = Buffer.concat([iv, cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
    return `${kid}.${Buffer.concat([body, cipher.getAuthTag()]).toString('base64url')}`
  }

  /** What was sealed; undefined when it was tampered with, is of another kind, or its key is not in the ring. */
  open(purpose: string, text: unknown): Json | undefined {
    const [, kid, data] = typeof text === 'string' ? (SEALED.exec(text) ?? []) : []
    const key = this.#keys.find((one) => one.kid === kid)?.key
    if (kid === undefined || data === undefined || !key) return undefined
    const bytes = Buffer.from(data, 'base64url')
    // One value has one spelling.
    if (bytes.length <= IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== data) return undefined
    try {
      const cipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
        .setAAD(bound(purpose, kid))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      const plain = Buffer.concat([cipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), cipher.final()])
      const value: unknown = JSON.parse(plain.toString('utf8'))
      return isObject(value) ? value : undefined
    } catch {
      // It was not sealed with this key for this purpose, so it is not a value of ours.
      return undefined
    }
  }
}

export function freshKey(): SealKey {
  return { kid: randomBytes(6).toString('base64url'), key: randomBytes(KEY_BYTES) }
}

function bound(purpose: string, kid: string): Buffer {
  return Buffer.from(`plugboard ${purpose}\n${kid}`, 'utf8')
}

// garbage-collection.ts: a setting of V8 for a process that answers many requests at a time.
import { setFlagsFromString } from 'node:v8'

/** Node after this one may not know the setting, and would print a line about it. */
const LAST_KNOWN = 24

/**
 * With many requests under way V8 soon counts a part of them as long-lived and makes it in the old heap. Each of these then keeps
 * all that belongs to its request until the next full collection: every small collection copies it, and takes ten times as long.
 */
export function keepRequestsYoung(): void {
  if (Number.parseInt(process.versions.node, 10) <= LAST_KNOWN)
    setFlagsFromString('--no-allocation-site-pretenuring')
}

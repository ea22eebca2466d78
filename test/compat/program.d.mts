import type { Program } from './check.mjs'
import type { CompatServer } from './servers.mjs'

export function programIn(folder: string, server: CompatServer, node?: string): Program

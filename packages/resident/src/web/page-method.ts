// page-method.ts: one row of the table of a page's methods: what it takes and what it does.
import type * as z from 'zod/mini'
import type { RequestContext } from '../json-rpc-socket.ts'
import type { PageContext } from './page-host.ts'

export type PageMethod = (page: PageContext, params: unknown, context: RequestContext) => unknown

export interface PageRow {
  readonly schema: z.ZodMiniType<unknown>
  readonly run: (page: PageContext, params: never, context: RequestContext) => unknown
}

export function row<T>(
  schema: z.ZodMiniType<T>,
  run: (page: PageContext, params: T, context: RequestContext) => unknown,
): PageRow {
  return { schema, run }
}

export interface TestServer {
  readonly info: unknown
  readonly notifications: readonly { method: string; params?: unknown }[]
  readonly folder: string
  request(
    method: string,
    params?: Record<string, unknown>,
    options?: {
      signal?: AbortSignal | undefined
      onProgress?: ((progress: { progress: number; total?: number }) => void) | undefined
    },
  ): Promise<Record<string, unknown>>
  close(): void
}
export const SERVERS: Readonly<Record<string, unknown>>
export function startServer(
  name: string,
  options?: {
    timeoutMs?: number
    capabilities?: Record<string, unknown>
    onRequest?: (method: string, params: unknown) => unknown
  },
): Promise<TestServer>
export function listAllTools(names?: readonly string[]): Promise<Map<string, readonly unknown[]>>

/** How to start one of them; `folder` is where it may write. */
export function serverCommand(
  entry: unknown,
  folder: string,
): { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }

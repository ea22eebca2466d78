// neighbours.ts: the healthy server inside the process, hand-written so that only the board is under test.
import type { InProcessServer } from '@plugboard/core'

const ECHO = {
  name: 'echo',
  description: 'echo',
  inputSchema: { type: 'object' },
  annotations: { readOnlyHint: true },
}

type Message = {
  readonly id?: number | string
  readonly method?: string
  readonly params?: {
    readonly protocolVersion?: string
    readonly name?: string
    readonly arguments?: Record<string, unknown>
  }
}

/** `onCall` answers a tool's call with a text; the arguments, when left out. */
export function insideServer(
  onCall: (name: string, args: Record<string, unknown>) => Promise<string> | string,
  tools: readonly object[] = [ECHO],
): InProcessServer {
  return async (end) => {
    const answer = async ({ method, params }: Message) => {
      switch (method) {
        case 'initialize':
          return {
            protocolVersion: params?.protocolVersion ?? '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 'inside', version: '1' },
          }
        case 'tools/list':
          return { tools }
        case 'tools/call':
          return {
            content: [{ type: 'text', text: await onCall(params?.name ?? '', params?.arguments ?? {}) }],
          }
        case 'ping':
          return {}
        default:
          return undefined
      }
    }
    end.onmessage = (raw) => {
      // What the board sends is JSON-RPC; only the members above are read.
      const message = raw as Message
      if (message.id === undefined || message.method === undefined) return
      const { id } = message
      void answer(message).then(async (result) => {
        const error = { code: -32601, message: 'Method not found' }
        await end.send(result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error }).catch(() => {
          // The other end closed meanwhile.
        })
      })
    }
    await end.start()
  }
}

export const inside: InProcessServer = insideServer((_name, args) => JSON.stringify(args))

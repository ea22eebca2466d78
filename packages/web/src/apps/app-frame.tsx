// app-frame.tsx: the host side of MCP Apps (ext-apps) around one sandboxed frame. Messages count only when they come from
// that frame's window.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'
import { useEffect, useRef, useState } from 'react'
import { config } from 'zod/v4/core'
import { failureOf } from '../connection/request-failed.ts'
import type { ToolResult } from '../results/result-view.tsx'
import { notify, request } from '../state/board.ts'
import type { Json, WireTool } from '../state/types.ts'
import { isDark } from '../theme.ts'

// The page's policy forbids code made from text; without this the library would try it once.
config({ jitless: true })

interface AppFrameProps {
  readonly url: string
  readonly tool: WireTool
  readonly args: Json
  readonly result: ToolResult
}

const MIN_HEIGHT = 120
const MAX_HEIGHT = 900

export default function AppFrame({ url, tool, args, result }: AppFrameProps) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [height, setHeight] = useState(420)
  useEffect(() => {
    const target = frame.current?.contentWindow
    if (!target || !frame.current) return undefined
    const bridge = bridgeFor(tool, setHeight)
    bridge.oninitialized = () => {
      void bridge.sendToolInput({ arguments: { ...args } })
      void bridge.sendToolResult(asCallResult(result))
    }
    void bridge.connect(new PostMessageTransport(target, target))
    // The app starts when its host listens.
    frame.current.src = url
    return () => void bridge.close()
  }, [url, tool, args, result])
  return (
    <iframe
      ref={frame}
      className="app-frame"
      title={`App of ${tool.definition.name}`}
      sandbox="allow-scripts allow-forms"
      referrerPolicy="no-referrer"
      style={{ height }}
    />
  )
}

function asCallResult({ answer, content, structuredContent, isError }: ToolResult) {
  const given = answer ?? { content, structuredContent }
  return {
    content: [...(given.content ?? [])],
    ...(given.structuredContent !== undefined && { structuredContent: given.structuredContent }),
    ...(isError === true && { isError }),
    // The server sent it as the result of a call, and the bridge checks it.
  } as unknown as Parameters<AppBridge['sendToolResult']>[0]
}

function bridgeFor(tool: WireTool, setHeight: (height: number) => void): AppBridge {
  const bridge = new AppBridge(
    null,
    { name: 'plugboard', version: '0.1.0' },
    { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
    {
      hostContext: {
        theme: isDark() ? 'dark' : 'light',
        platform: 'web',
        displayMode: 'inline',
        availableDisplayModes: ['inline'],
        locale: navigator.language,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      },
    },
  )
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) setHeight(Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, Math.ceil(height))))
  }
  bridge.oncalltool = (params) => callOf(tool, params)
  bridge.onreadresource = async ({ uri }) => {
    const contents = await request<readonly Json[]>('board/read', { server: tool.server, uri, context: {} })
    return { contents } as never
  }
  bridge.onopenlink = async ({ url }) => {
    // Only by the user's own yes, and only to the web.
    if (!/^https?:\/\//i.test(url) || !confirm(`The app of ${tool.server} wants to open:\n\n${url}`))
      return { isError: true }
    open(url, '_blank', 'noopener,noreferrer')
    return {}
  }
  bridge.onmessage = async () => {
    notify(`The app of ${tool.server} sent a message for a conversation; this page has none.`)
    return { isError: true }
  }
  return bridge
}

/** A call of the app: a tool of its own server, and a question to the user unless a rule allows it. */
async function callOf(
  tool: WireTool,
  params: { readonly name: string; readonly arguments?: Json | undefined },
) {
  try {
    const own = await request<WireTool>('board/tool', { name: `${tool.server}.${params.name}` })
    if (own.server !== tool.server) throw new Error('An app may only call tools of its own server.')
    const result = await request<ToolResult>('board/call', {
      name: own.name,
      args: params.arguments ?? {},
      context: { caller: 'agent', maxResultChars: null, keepAnswer: true },
    })
    return asCallResult(result)
  } catch (error) {
    return { content: [{ type: 'text' as const, text: failureOf(error).message }], isError: true }
  }
}

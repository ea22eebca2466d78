// app-panel.tsx: the app of a tool in a frame of another origin. What it asks goes to its own server only, through the
// board's permissions; it gets no address that the user did not agree to.
import { lazy, Suspense, useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Loading, Problem } from '../parts/basics.tsx'
import type { ToolResult } from '../results/result-view.tsx'
import { request } from '../state/board.ts'
import type { Json, WireTool } from '../state/types.ts'

const AppFrame = lazy(() => import('./app-frame.tsx'))

interface AppPanelProps {
  readonly tool: WireTool
  readonly address: string
  readonly args: Json
  readonly result: ToolResult
}

interface OpenedApp {
  readonly url: string
  /** Origins that the app asks for. */
  readonly domains: readonly string[]
}

export function AppPanel({ tool, address, args, result }: AppPanelProps) {
  const [app, setApp] = useState<OpenedApp>()
  const [reaches, setReaches] = useState(false)
  const [failure, setFailure] = useState<string>()
  useEffect(() => {
    let isGone = false
    request<OpenedApp>('apps/open', { server: tool.server, uri: address, reaches }).then(
      (opened) => {
        if (!isGone) setApp(opened)
      },
      (error: unknown) => setFailure(failureOf(error).message),
    )
    return () => {
      isGone = true
    }
  }, [tool.server, address, reaches])
  if (failure !== undefined) return <Problem title={`The app of this tool cannot be shown: ${failure}`} />
  if (!app) return <Loading>Opening the app of this tool…</Loading>
  return (
    <section className="app" aria-label={`App of ${tool.definition.name}`}>
      {app.domains.length > 0 && !reaches && (
        <div className="banner banner-warn">
          <span>The app asks to reach {app.domains.join(', ')}. Without it, it stays on this machine.</span>
          <Button onClick={() => setReaches(true)}>Allow</Button>
        </div>
      )}
      <Suspense fallback={<Loading>Opening the app of this tool…</Loading>}>
        <AppFrame key={app.url} url={app.url} tool={tool} args={args} result={result} />
      </Suspense>
    </section>
  )
}

// tool-detail.tsx: one tool: what it says about itself, its schema, and a form to call it.
import { useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Chip, Code, IconButton, Loading, Problem } from '../parts/basics.tsx'
import { RichText } from '../parts/rich-text.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { addressOf } from '../routes.ts'
import { request } from '../state/board.ts'
import type { ToolLine, WireTool } from '../state/types.ts'
import { CallPanel } from './call-panel.tsx'
import { SchemaTable } from './schema-table.tsx'

interface ToolDetailProps {
  readonly name: string
  readonly line: ToolLine | undefined
  /** Arguments that the form starts with, as JSON. */
  readonly given: string | undefined
  readonly onClose: () => void
}

export function ToolDetail({ name, line, given, onClose }: ToolDetailProps) {
  const [tool, setTool] = useState<WireTool>()
  const [failure, setFailure] = useState<string>()
  const [tab, setTab] = useState('call')
  // biome-ignore lint/correctness/useExhaustiveDependencies: a server that came back may have another definition
  useEffect(() => {
    request<WireTool>('board/tool', { name }).then(setTool, (error: unknown) =>
      setFailure(failureOf(error).message),
    )
  }, [name, line?.available])
  return (
    <section className="pane detail" aria-labelledby="tool-title">
      <header className="pane-head">
        <h2 id="tool-title">{tool?.definition.title ?? line?.title ?? line?.tool ?? name}</h2>
        <div className="pane-actions">
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      {failure !== undefined && <Problem title={failure} />}
      {!tool && failure === undefined && <Loading>Reading the tool…</Loading>}
      {tool && (
        <div className="stack">
          <About tool={tool} line={line} />
          <Tabs
            label="About the tool"
            selected={tab}
            onSelect={setTab}
            tabs={[
              { id: 'call', title: 'Call', content: () => <CallPanel tool={tool} given={given} /> },
              {
                id: 'schema',
                title: 'Schema',
                content: () => (
                  <div className="stack">
                    <SchemaTable title="Arguments" schema={tool.definition.inputSchema} />
                    {tool.definition.outputSchema && (
                      <SchemaTable title="Result" schema={tool.definition.outputSchema} />
                    )}
                  </div>
                ),
              },
              {
                id: 'raw',
                title: 'Definition',
                content: () => <Code label="Definition">{JSON.stringify(tool.definition, null, 2)}</Code>,
              },
            ]}
          />
        </div>
      )}
    </section>
  )
}

const HINTS = [
  ['readOnlyHint', 'read-only', 'good'],
  ['destructiveHint', 'destructive', 'deny'],
  ['idempotentHint', 'idempotent', 'plain'],
  ['openWorldHint', 'reaches other systems', 'plain'],
] as const

function About({ tool, line }: { readonly tool: WireTool; readonly line: ToolLine | undefined }) {
  const { definition, server, decision } = tool
  const annotations = definition.annotations ?? {}
  return (
    <div className="stack-tight">
      <div className="chips">
        <a className="chip chip-link" href={addressOf('servers', server)}>
          {server}
        </a>
        <code className="dim">{tool.name}</code>
        {HINTS.filter(([key]) => annotations[key] === true).map(([key, text, tone]) => (
          <Chip key={key} tone={tone} title="As the server says">
            {text}
          </Chip>
        ))}
        <Chip tone={decision.outcome} title={decision.reason.text}>
          a model: {decision.outcome}
        </Chip>
        {line && <span className="dim">≈ {line.tokens} tokens</span>}
      </div>
      {definition.description !== undefined && <RichText text={definition.description} />}
    </div>
  )
}

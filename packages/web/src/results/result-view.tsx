// result-view.tsx: what a tool answered, each part as what it is: text, Markdown, JSON, tables, images, audio, resources.
import { useState } from 'react'
import { Button, Chip, CopyButton, Problem } from '../parts/basics.tsx'
import { fileName, saveFile, size } from '../parts/format.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { RichText } from '../parts/rich-text.tsx'
import type { Json } from '../state/types.ts'
import { DataTable, isTable } from './data-table.tsx'

export interface ToolResult {
  readonly content: readonly Json[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  /** The server's own answer. */
  readonly answer?: { readonly content?: readonly Json[]; readonly structuredContent?: unknown }
}

interface ResultViewProps {
  readonly result: ToolResult
  readonly schema?: Json | undefined
  readonly server: string
}

export function ResultView({ result, schema, server }: ResultViewProps) {
  const [isRaw, setRaw] = useState(false)
  const content = result.answer?.content ?? result.content
  const structured = result.answer?.structuredContent ?? result.structuredContent
  return (
    <div className="result">
      <div className="bar">
        {result.isError && <Chip tone="deny">the tool reports an error</Chip>}
        {structured !== undefined && schema && <Chip tone="good">fits its schema</Chip>}
        <fieldset className="segments">
          <legend className="visually-hidden">How the result is shown</legend>
          <button type="button" aria-pressed={!isRaw} onClick={() => setRaw(false)}>
            Rendered
          </button>
          <button type="button" aria-pressed={isRaw} onClick={() => setRaw(true)}>
            Raw
          </button>
        </fieldset>
      </div>
      {isRaw ? (
        <JsonTree value={result.answer ?? result} label="Raw result" />
      ) : (
        <>
          {structured !== undefined && <Structured value={structured} />}
          {content.map((block, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a result have no other identity
            <Block key={at} block={block} structured={structured} server={server} />
          ))}
          {content.length === 0 && structured === undefined && <p className="dim">The answer is empty.</p>}
        </>
      )}
    </div>
  )
}

function Structured({ value }: { readonly value: unknown }) {
  const table = tableIn(value)
  return (
    <div className="stack-tight">
      {table && <DataTable rows={table} />}
      <JsonTree value={value} label="Structured content" />
    </div>
  )
}

/** A list of objects, or an object whose only list is one. */
function tableIn(value: unknown): readonly Json[] | undefined {
  if (isTable(value)) return value
  if (typeof value !== 'object' || value === null) return undefined
  const lists = Object.values(value).filter(isTable)
  return lists.length === 1 ? lists[0] : undefined
}

function Block({
  block,
  structured,
  server,
}: {
  readonly block: Json
  readonly structured: unknown
  readonly server: string
}) {
  switch (block['type']) {
    case 'text':
      return <TextBlock text={String(block['text'] ?? '')} isCopy={isSame(block['text'], structured)} />
    case 'image':
      return <Media kind="image" data={String(block['data'] ?? '')} type={String(block['mimeType'] ?? '')} />
    case 'audio':
      return <Media kind="audio" data={String(block['data'] ?? '')} type={String(block['mimeType'] ?? '')} />
    case 'resource':
      return <EmbeddedResource resource={(block['resource'] ?? {}) as Json} />
    case 'resource_link':
      return (
        <p className="resource-link">
          <Chip>{server}</Chip> <strong>{String(block['title'] ?? block['name'] ?? '')}</strong>{' '}
          <code className="break">{String(block['uri'] ?? '')}</code>
          {block['description'] !== undefined && <span className="dim"> {String(block['description'])}</span>}
        </p>
      )
    default:
      return <JsonTree value={block} label="Part of the result" />
  }
}

/** Servers repeat structured content as text for older clients. */
function isSame(text: unknown, structured: unknown): boolean {
  if (structured === undefined || typeof text !== 'string') return false
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

const PAGE = 20_000

export function TextBlock({ text, isCopy = false }: { readonly text: string; readonly isCopy?: boolean }) {
  const json = jsonIn(text)
  const [mode, setMode] = useState(json === undefined ? 'rich' : 'json')
  const [shown, setShown] = useState(PAGE)
  if (isCopy) return <p className="dim">The same as text: {size(text.length)}.</p>
  const modes = [...(json === undefined ? ['rich'] : ['json']), 'plain']
  const part = text.slice(0, shown)
  return (
    <div className="text-block">
      <div className="bar">
        <fieldset className="segments">
          <legend className="visually-hidden">How the text is shown</legend>
          {modes.map((one) => (
            <button key={one} type="button" aria-pressed={mode === one} onClick={() => setMode(one)}>
              {one === 'rich' ? 'Markdown' : one === 'json' ? 'JSON' : 'Text'}
            </button>
          ))}
        </fieldset>
        <span className="dim">{size(text.length)}</span>
        <CopyButton text={text} />
      </div>
      {mode === 'json' && (
        <>
          {tableIn(json) && <DataTable rows={tableIn(json) ?? []} />}
          <JsonTree value={json} label="Text as JSON" />
        </>
      )}
      {mode === 'rich' && <RichText text={part} />}
      {mode === 'plain' && <pre className="plain-text">{part}</pre>}
      {mode !== 'json' && text.length > shown && (
        <Button onClick={() => setShown(shown + 5 * PAGE)}>
          Show more: {size(shown)} of {size(text.length)}
        </Button>
      )}
    </div>
  )
}

function jsonIn(text: string): unknown {
  const start = text.trimStart().charAt(0)
  if (start !== '{' && start !== '[') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const IMAGE_TYPES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/
const AUDIO_TYPES = /^audio\/[\w.+-]+$/

function Media({
  kind,
  data,
  type,
}: {
  readonly kind: 'image' | 'audio'
  readonly data: string
  readonly type: string
}) {
  const isKnown = (kind === 'image' ? IMAGE_TYPES : AUDIO_TYPES).test(type)
  const isBase64 = /^[A-Za-z0-9+/=\s]*$/.test(data)
  if (!isKnown || !isBase64)
    return <Problem title={`This ${kind} cannot be shown (${type === '' ? 'no type' : type}).`} />
  const address = `data:${type};base64,${data}`
  const extension = type.split('/')[1]?.replace(/\W.*/, '') ?? 'bin'
  return (
    <figure className="media">
      {/* biome-ignore lint/a11y/useMediaCaption: a server's recording comes without a caption */}
      {kind === 'image' ? <img src={address} alt="The server's answer" /> : <audio controls src={address} />}
      <figcaption className="dim">
        {type}, {size(Math.round(data.length * 0.75))}{' '}
        <Button
          tone="quiet"
          icon="save"
          onClick={() => saveFile(`${kind}.${fileName(extension, 'bin')}`, type, bytesOf(data))}
        >
          Save
        </Button>
      </figcaption>
    </figure>
  )
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))
}

export function EmbeddedResource({ resource }: { readonly resource: Json }) {
  const { uri, mimeType, text, blob } = resource
  const type = String(mimeType ?? '')
  return (
    <div className="card">
      <div className="card-head">
        <code className="break">{String(uri ?? '')}</code> <span className="dim">{type}</span>
      </div>
      {typeof text === 'string' && <TextBlock text={text} />}
      {typeof blob === 'string' && IMAGE_TYPES.test(type) && <Media kind="image" data={blob} type={type} />}
      {typeof blob === 'string' && AUDIO_TYPES.test(type) && <Media kind="audio" data={blob} type={type} />}
      {typeof blob === 'string' && !IMAGE_TYPES.test(type) && !AUDIO_TYPES.test(type) && (
        <Button
          icon="save"
          onClick={() =>
            saveFile(
              fileName(
                String(uri ?? '')
                  .split('/')
                  .at(-1) ?? '',
                'resource.bin',
              ),
              'application/octet-stream',
              bytesOf(blob),
            )
          }
        >
          Save {size(Math.round(blob.length * 0.75))}
        </Button>
      )}
    </div>
  )
}

// resources-view.tsx: the resources of the servers and their templates, to read and to follow.
import { type FormEvent, useEffect, useMemo, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Chip, Empty, Loading, Problem } from '../parts/basics.tsx'
import { Icon } from '../parts/icon.tsx'
import { EmbeddedResource } from '../results/result-view.tsx'
import { attempt, board, request } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { Json } from '../state/types.ts'
import { ArgumentInput } from './argument-input.tsx'

interface Resource {
  readonly server: string
  readonly uri: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
}

interface Template {
  readonly server: string
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string
  readonly description?: string
}

interface Chosen {
  readonly server: string
  readonly uri: string
}

const SHOWN = 300

export default function ResourcesView() {
  const [resources, setResources] = useState<readonly Resource[]>()
  const [templates, setTemplates] = useState<readonly Template[]>([])
  const [query, setQuery] = useState('')
  const [chosen, setChosen] = useState<Chosen>()
  useEffect(() => {
    void attempt(async () => {
      const listed =
        await request<readonly { readonly server: string; readonly resource: Omit<Resource, 'server'> }[]>(
          'board/resources',
        )
      setResources(listed.map(({ server, resource }) => ({ ...resource, server })))
    })
    void attempt(async () => {
      const listed =
        await request<readonly { readonly server: string; readonly template: Omit<Template, 'server'> }[]>(
          'board/templates',
        )
      setTemplates(listed.map(({ server, template }) => ({ ...template, server })))
    })
  }, [])
  const wanted = query.trim().toLowerCase()
  const shown = (resources ?? []).filter(({ uri, name, server }) =>
    `${server} ${uri} ${name}`.toLowerCase().includes(wanted),
  )
  return (
    <div className={`split split-list ${chosen ? 'split-open' : ''}`}>
      <section className="pane" aria-labelledby="resources-title">
        <header className="pane-head">
          <h1 id="resources-title">Resources</h1>
          <p className="summary">{resources === undefined ? '' : `${shown.length}`}</p>
        </header>
        <label className="search-field pane-search">
          <span className="visually-hidden">Filter resources</span>
          <Icon name="search" size={14} />
          <input
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            placeholder="Filter resources"
          />
        </label>
        {templates.map((template) => (
          <TemplateForm
            key={`${template.server} ${template.uriTemplate}`}
            template={template}
            onChoose={setChosen}
          />
        ))}
        {resources === undefined && <Loading>Asking the servers…</Loading>}
        {resources !== undefined && shown.length === 0 && (
          <Empty icon="resources" title="No server has resources here" />
        )}
        <ul className="plain-list list-flow">
          {shown.slice(0, SHOWN).map((resource) => (
            <li key={`${resource.server} ${resource.uri}`}>
              <button
                type="button"
                className="list-link"
                aria-pressed={chosen?.uri === resource.uri && chosen.server === resource.server}
                onClick={() => setChosen(resource)}
              >
                <span className="list-title">{resource.title ?? resource.name}</span>
                <span className="list-sub">
                  <span className="list-server">{resource.server}</span> {resource.uri}
                </span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      {chosen && (
        <ResourceDetail
          key={`${chosen.server} ${chosen.uri}`}
          {...chosen}
          onClose={() => setChosen(undefined)}
        />
      )}
    </div>
  )
}

/** The names between braces of a URI template; a leading operator is left out. */
function variablesOf(template: string): readonly string[] {
  return [...template.matchAll(/\{[+#./;?&]?([^}]+)\}/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.replace(/[:*].*$/, '')),
  )
}

function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{([+#./;?&]?)([^}]+)\}/g, (_, operator: string, names: string) =>
    names
      .split(',')
      .map((name) => {
        const value = values[name.replace(/[:*].*$/, '')] ?? ''
        return operator === '+' || operator === '#' ? value : encodeURIComponent(value)
      })
      .join(','),
  )
}

function TemplateForm({
  template,
  onChoose,
}: {
  readonly template: Template
  readonly onChoose: (chosen: Chosen) => void
}) {
  const { server, uriTemplate, name, title, description } = template
  const names = useMemo(() => variablesOf(uriTemplate), [uriTemplate])
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onChoose({ server, uri: filled(uriTemplate, values) })
  }
  return (
    <details className="card">
      <summary>
        {title ?? name} <span className="dim">{server}</span> <code className="break">{uriTemplate}</code>
      </summary>
      <form className="form" onSubmit={submit}>
        {description !== undefined && <p className="dim">{description}</p>}
        {names.map((one) => (
          <ArgumentInput
            key={one}
            label={one}
            server={server}
            of={{ template: uriTemplate, argument: one }}
            given={values}
            required
            value={values[one] ?? ''}
            onChange={(value) => setValues({ ...values, [one]: value })}
          />
        ))}
        <Button type="submit" tone="primary">
          Read
        </Button>
      </form>
    </details>
  )
}

function ResourceDetail({ server, uri, onClose }: Chosen & { readonly onClose: () => void }) {
  const [contents, setContents] = useState<readonly Json[]>()
  const [failure, setFailure] = useState<string>()
  const [follows, setFollows] = useState(false)
  const updates = useStore(board, (state) => state.updated.get(`${server} ${uri}`) ?? 0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: an update of the server reads it again
  useEffect(() => {
    request<readonly Json[]>('board/read', { server, uri, context: {} }).then(
      (read) => {
        setContents(read)
        setFailure(undefined)
      },
      (error: unknown) => setFailure(failureOf(error).message),
    )
  }, [server, uri, updates])
  useEffect(() => {
    if (!follows) return undefined
    void attempt(() => request('board/subscribe', { server, uri, context: {} }))
    return () => void attempt(() => request('board/unsubscribe', { server, uri }))
  }, [follows, server, uri])
  return (
    <section className="pane detail" aria-labelledby="resource-title">
      <header className="pane-head">
        <h2 id="resource-title" className="break">
          {uri}
        </h2>
        <div className="pane-actions">
          <Button onClick={onClose}>Close</Button>
        </div>
      </header>
      <div className="bar">
        <Chip>{server}</Chip>
        <label className="check">
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} />{' '}
          Follow changes
        </label>
        {updates > 0 && (
          <span className="dim" role="status">
            changed {updates} times
          </span>
        )}
      </div>
      {failure !== undefined && <Problem title={failure} />}
      {!contents && failure === undefined && <Loading>Reading…</Loading>}
      {contents?.map((content, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a resource have no other identity
        <EmbeddedResource key={`${at} ${updates}`} resource={content} />
      ))}
    </section>
  )
}

// resources-view.tsx: the resources of the servers and their templates, to read and to follow.
import { type FormEvent, useEffect, useMemo, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Chip, IconButton, Loading, Problem } from '../parts/basics.tsx'
import { EmbeddedResource } from '../results/result-view.tsx'
import { attempt, board, request } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { Json } from '../state/types.ts'
import { ArgumentInput } from './argument-input.tsx'
import { OfferPane, useListed } from './offer-pane.tsx'

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

type ListedResource = { readonly server: string; readonly resource: Omit<Resource, 'server'> }
type ListedTemplate = { readonly server: string; readonly template: Omit<Template, 'server'> }

export default function ResourcesView() {
  const listed = useListed<ListedResource>('board/resources')
  const templates = useListed<ListedTemplate>('board/templates')
  const [chosen, setChosen] = useState<Chosen>()
  const offers = listed?.map(({ server, resource }) => ({
    server,
    key: resource.uri,
    uri: resource.uri,
    title: resource.title ?? resource.name,
    about: resource.uri,
  }))
  return (
    <OfferPane
      title="Resources"
      icon="resources"
      empty="No server has resources here"
      offers={offers}
      isChosen={({ server, uri }) => chosen?.uri === uri && chosen.server === server}
      onChoose={setChosen}
      detail={
        chosen && (
          <ResourceDetail
            key={`${chosen.server} ${chosen.uri}`}
            server={chosen.server}
            uri={chosen.uri}
            onClose={() => setChosen(undefined)}
          />
        )
      }
    >
      {templates?.map(({ server, template }) => (
        <TemplateForm
          key={`${server} ${template.uriTemplate}`}
          template={{ ...template, server }}
          onChoose={setChosen}
        />
      ))}
    </OfferPane>
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
          <IconButton icon="close" label="Close" onClick={onClose} />
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

// json-tree.tsx: a JSON value to open and close, with a search and the path of each value to copy. Large lists are paged.
import { useMemo, useState } from 'react'
import { Button, CopyButton } from './basics.tsx'
import { Icon } from './icon.tsx'

const PAGE = 100
/** A value that fits a screen is shown whole. */
const SMALL_CHARS = 3000
const OPEN_DEPTH = 2

export function JsonTree({ value, label }: { readonly value: unknown; readonly label: string }) {
  const [query, setQuery] = useState('')
  const openDepth = useMemo(
    () => ((JSON.stringify(value) ?? '').length < SMALL_CHARS ? Number.POSITIVE_INFINITY : OPEN_DEPTH),
    [value],
  )
  return (
    <div className="json">
      <div className="json-bar">
        <label className="search-field">
          <span className="visually-hidden">Search in {label}</span>
          <Icon name="search" size={14} />
          <input
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            placeholder="Search keys and values"
          />
        </label>
        <CopyButton text={() => JSON.stringify(value, null, 2)} label="Copy JSON" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard */}
      <section className="json-body" aria-label={label} tabIndex={0}>
        <Node
          name=""
          path="$"
          value={value}
          depth={0}
          openDepth={openDepth}
          query={query.trim().toLowerCase()}
        />
      </section>
    </div>
  )
}

interface NodeProps {
  readonly name: string
  readonly path: string
  readonly value: unknown
  readonly depth: number
  readonly openDepth: number
  readonly query: string
}

function Node({ name, path, value, depth, openDepth, query }: NodeProps) {
  const isHit = query !== '' && matches(name, value, query)
  const [isOpen, setOpen] = useState(depth < openDepth)
  const [shown, setShown] = useState(PAGE)
  if (typeof value !== 'object' || value === null)
    return (
      <div className={`json-row ${isHit ? 'json-hit' : ''}`}>
        <Key name={name} path={path} /> <Scalar value={value} />
      </div>
    )
  const all = Array.isArray(value)
    ? value.map((item, at) => [String(at), item] as const)
    : Object.entries(value)
  const entries = query === '' ? all : all.filter(([key, item]) => matchesBelow(key, item, query, 0))
  const open = isOpen || query !== ''
  const [before, after] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return (
    <div>
      <div className={`json-row ${isHit ? 'json-hit' : ''}`}>
        <button
          type="button"
          className="json-toggle"
          aria-expanded={open}
          aria-label={`${name === '' ? 'value' : name}, ${all.length} entries`}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={open ? 'down' : 'right'} size={12} />
        </button>
        <Key name={name} path={path} />{' '}
        <span className="json-mark">{open ? before : `${before}${all.length}${after}`}</span>
      </div>
      {open && (
        <div className="json-children">
          {entries.slice(0, shown).map(([key, item]) => (
            <Node
              key={key}
              name={key}
              path={pathOf(path, key, Array.isArray(value))}
              value={item}
              depth={depth + 1}
              openDepth={openDepth}
              query={query}
            />
          ))}
          {entries.length > shown && (
            <Button tone="quiet" onClick={() => setShown(shown + PAGE)}>
              Show {Math.min(PAGE, entries.length - shown)} more of {entries.length}
            </Button>
          )}
        </div>
      )}
      {open && <div className="json-mark">{after}</div>}
    </div>
  )
}

function Key({ name, path }: { readonly name: string; readonly path: string }) {
  if (name === '') return null
  return (
    <button
      type="button"
      className="json-key"
      title={`Copy ${path}`}
      aria-label={`Copy path ${path}`}
      onClick={() => void navigator.clipboard.writeText(path)}
    >
      {name}:
    </button>
  )
}

const LONG = 400

function Scalar({ value }: { readonly value: unknown }) {
  const [whole, setWhole] = useState(false)
  if (typeof value !== 'string') return <span className={`json-${typeof value}`}>{String(value)}</span>
  const cut = value.length > LONG && !whole
  return (
    <span className="json-string">
      {JSON.stringify(cut ? value.slice(0, LONG) : value)}
      {cut && (
        <Button tone="quiet" onClick={() => setWhole(true)}>
          all {value.length} characters
        </Button>
      )}
    </span>
  )
}

function pathOf(path: string, key: string, isList: boolean): string {
  if (isList) return `${path}[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`
}

function matches(name: string, value: unknown, query: string): boolean {
  if (name.toLowerCase().includes(query)) return true
  return (typeof value !== 'object' || value === null) && String(value).toLowerCase().includes(query)
}

const SEARCH_DEPTH = 20

function matchesBelow(name: string, value: unknown, query: string, depth: number): boolean {
  if (matches(name, value, query)) return true
  if (typeof value !== 'object' || value === null || depth > SEARCH_DEPTH) return false
  return Object.entries(value).some(([key, item]) => matchesBelow(key, item, query, depth + 1))
}

// offer-pane.tsx: what servers offer as a list with a detail beside it: resources, prompts and skills have the same shape.
import { type ReactNode, useEffect, useState } from 'react'
import { Empty, Loading } from '../parts/basics.tsx'
import type { IconName } from '../parts/icon.tsx'
import { SearchField } from '../parts/search-field.tsx'
import { attempt, request } from '../state/board.ts'

export interface Offer {
  readonly server: string
  /** Tells offers of a server apart. */
  readonly key: string
  readonly title: string
  readonly about: string
}

/** Asked once, when the view opens; undefined until the servers answered. */
export function useListed<T>(method: string): readonly T[] | undefined {
  const [listed, setListed] = useState<readonly T[]>()
  useEffect(() => {
    void attempt(async () => setListed(await request<readonly T[]>(method)))
  }, [method])
  return listed
}

interface OfferPaneProps<O extends Offer> {
  readonly title: string
  readonly icon: IconName
  readonly empty: string
  readonly offers: readonly O[] | undefined
  readonly isChosen: (offer: O) => boolean
  readonly onChoose: (offer: O) => void
  /** Between the filter and the list. */
  readonly children?: ReactNode
  readonly detail: ReactNode
}

/** A longer list is filtered. */
const SHOWN = 300

export function OfferPane<O extends Offer>(props: OfferPaneProps<O>) {
  const { title, icon, empty, offers, isChosen, onChoose, children, detail } = props
  const [query, setQuery] = useState('')
  const wanted = query.trim().toLowerCase()
  const shown = (offers ?? []).filter((offer) =>
    `${offer.server} ${offer.key} ${offer.title} ${offer.about}`.toLowerCase().includes(wanted),
  )
  return (
    <div className={`split split-list ${detail ? 'split-open' : ''}`}>
      <section className="pane" aria-labelledby="offers-title">
        <header className="pane-head">
          <h1 id="offers-title">{title}</h1>
          <p className="summary">{offers === undefined ? '' : `${shown.length}`}</p>
        </header>
        <SearchField
          className="pane-search"
          label={`Filter ${title.toLowerCase()}`}
          value={query}
          onChange={setQuery}
        />
        {children}
        {offers === undefined && <Loading>Asking the servers…</Loading>}
        {offers !== undefined && shown.length === 0 && (
          <Empty icon={icon} title={offers.length === 0 ? empty : 'Nothing matches'} />
        )}
        <ul className="plain-list list-flow">
          {shown.slice(0, SHOWN).map((offer) => (
            <li key={`${offer.server} ${offer.key}`}>
              <button
                type="button"
                className="list-link"
                aria-pressed={isChosen(offer)}
                onClick={() => onChoose(offer)}
              >
                <span className="list-title">{offer.title}</span>
                <span className="list-sub">
                  <span className="list-server">{offer.server}</span> {offer.about}
                </span>
              </button>
            </li>
          ))}
        </ul>
        {shown.length > SHOWN && <p className="dim">{shown.length - SHOWN} more: filter to see them.</p>}
      </section>
      {detail}
    </div>
  )
}

// prompts-view.tsx: the prompts of the servers with their arguments, and the messages they give.
import { type FormEvent, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Chip, IconButton, Problem } from '../parts/basics.tsx'
import { ResultView } from '../results/result-view.tsx'
import { request } from '../state/board.ts'
import type { Json } from '../state/types.ts'
import { ArgumentInput } from './argument-input.tsx'
import { OfferPane, useListed } from './offer-pane.tsx'

interface Prompt {
  readonly server: string
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly {
    readonly name: string
    readonly description?: string
    readonly required?: boolean
  }[]
}

type Listed = { readonly server: string; readonly prompt: Omit<Prompt, 'server'> }

export default function PromptsView() {
  const listed = useListed<Listed>('board/prompts')
  const [chosen, setChosen] = useState<{ readonly key: string; readonly prompt: Prompt }>()
  const offers = listed?.map(({ server, prompt }) => ({
    server,
    key: prompt.name,
    title: prompt.title ?? prompt.name,
    about: prompt.description ?? '',
    prompt: { ...prompt, server },
  }))
  return (
    <OfferPane
      title="Prompts"
      icon="prompts"
      empty="No server has prompts here"
      offers={offers}
      isChosen={({ server, key }) => chosen?.key === key && chosen.prompt.server === server}
      onChoose={setChosen}
      detail={
        chosen && (
          <PromptDetail
            key={`${chosen.prompt.server} ${chosen.key}`}
            prompt={chosen.prompt}
            onClose={() => setChosen(undefined)}
          />
        )
      }
    />
  )
}

interface Messages {
  readonly description?: string
  readonly messages: readonly { readonly role: string; readonly content: Json }[]
}

function PromptDetail({ prompt, onClose }: { readonly prompt: Prompt; readonly onClose: () => void }) {
  const { server, name, title, description, arguments: wanted = [] } = prompt
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [answer, setAnswer] = useState<Messages>()
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setFailure(undefined)
    const args = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
    try {
      setAnswer(await request<Messages>('board/prompt', { server, name, args, context: {} }))
    } catch (error) {
      setFailure(failureOf(error).message)
    }
    setBusy(false)
  }
  return (
    <section className="pane detail" aria-labelledby="prompt-title">
      <header className="pane-head">
        <h2 id="prompt-title">{title ?? name}</h2>
        <Chip>{server}</Chip>
        <div className="pane-actions">
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      {description !== undefined && <p>{description}</p>}
      <form className="form" onSubmit={(event) => void submit(event)}>
        {wanted.map((one) => (
          <ArgumentInput
            key={one.name}
            label={one.name}
            {...(one.description !== undefined && { description: one.description })}
            server={server}
            of={{ prompt: name, argument: one.name }}
            given={values}
            required={one.required === true}
            value={values[one.name] ?? ''}
            onChange={(value) => setValues({ ...values, [one.name]: value })}
          />
        ))}
        <div className="actions">
          <Button type="submit" tone="primary" busy={isBusy}>
            Get the messages
          </Button>
        </div>
      </form>
      {failure !== undefined && <Problem title={failure} />}
      {answer && <PromptMessages server={server} {...answer} />}
    </section>
  )
}

function PromptMessages({ server, messages }: Messages & { readonly server: string }) {
  return messages.map(({ role, content }, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
    <article key={at} className="card">
      <div className="card-head">
        <Chip>{role}</Chip>
      </div>
      <ResultView result={{ content: Array.isArray(content) ? content : [content] }} server={server} />
    </article>
  ))
}

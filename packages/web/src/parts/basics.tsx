// basics.tsx: the smallest parts that every view uses: buttons, chips, states, empty places, code.
import { type ButtonHTMLAttributes, type ReactNode, useEffect, useRef, useState } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly icon?: IconName
  readonly tone?: 'plain' | 'primary' | 'danger' | 'quiet'
  readonly busy?: boolean
}

export function Button({
  icon,
  tone = 'plain',
  busy = false,
  children,
  className = '',
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${tone} ${className}`}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} size={14} />}
      {children}
    </button>
  )
}

/** A button that is a drawing: its name is read out and shown as a hint. */
export function IconButton({
  icon,
  label,
  ...rest
}: Omit<ButtonProps, 'children'> & { readonly icon: IconName; readonly label: string }) {
  return (
    <button
      type="button"
      {...rest}
      className={`icon-button ${rest.className ?? ''}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} size={16} />
    </button>
  )
}

export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string | (() => string)
  readonly label?: string
}) {
  const [done, setDone] = useState(false)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
    setDone(true)
    timer.current = setTimeout(() => setDone(false), 1500)
  }
  return (
    <Button tone="quiet" icon="copy" onClick={() => void copy()}>
      <span aria-live="polite">{done ? 'Copied' : label}</span>
    </Button>
  )
}

export function Chip({
  tone = 'plain',
  children,
  title,
}: {
  readonly tone?: string
  readonly children: ReactNode
  readonly title?: string
}) {
  return (
    <span className={`chip chip-${tone}`} title={title}>
      {children}
    </span>
  )
}

export type StateTone = 'good' | 'bad' | 'wait' | 'off' | 'warn'

/** A coloured dot that is never alone: the word stands beside it. */
export function StateMark({ tone, children }: { readonly tone: StateTone; readonly children: ReactNode }) {
  return (
    <span className={`state state-${tone}`}>
      <span className="state-dot" aria-hidden="true" />
      {children}
    </span>
  )
}

export function Empty({
  icon,
  title,
  children,
}: {
  readonly icon: IconName
  readonly title: string
  readonly children?: ReactNode
}) {
  return (
    <div className="empty">
      <Icon name={icon} size={28} />
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="empty-text">{children}</div>}
    </div>
  )
}

export function Loading({ children }: { readonly children: ReactNode }) {
  return (
    <div className="loading" role="status">
      <span className="spinner" aria-hidden="true" /> {children}
    </div>
  )
}

export function Problem({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="problem" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{title}</strong>
        {children !== undefined && <div className="problem-text">{children}</div>}
      </div>
    </div>
  )
}

/** Text of a program, as it is. Wide ones scroll; the keyboard reaches them. */
export function Code({ children, label }: { readonly children: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
    <section className="code" aria-label={label} tabIndex={0}>
      <pre>{children}</pre>
    </section>
  )
}

export function Facts({ rows }: { readonly rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

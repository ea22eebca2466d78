// argument-input.tsx: one argument of a prompt or a template, with the server's own completions.
import { useEffect, useId, useState } from 'react'
import { request } from '../state/board.ts'

interface ArgumentInputProps {
  readonly label: string
  readonly description?: string
  readonly server: string
  readonly of: { readonly argument: string; readonly prompt?: string; readonly template?: string }
  readonly given: Readonly<Record<string, string>>
  readonly required: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

export function ArgumentInput({
  label,
  description,
  server,
  of,
  given,
  required,
  value,
  onChange,
}: ArgumentInputProps) {
  const id = useId()
  const [options, setOptions] = useState<readonly string[]>([])
  const context = JSON.stringify([of, given])
  useEffect(() => {
    const [about, others] = JSON.parse(context) as [typeof of, typeof given]
    const timer = setTimeout(
      () =>
        request<{ readonly values: readonly string[] }>('board/complete', {
          server,
          of: { ...about, value },
          given: others,
        }).then(
          ({ values }) => setOptions(values),
          // A server without completions is an ordinary one.
          () => setOptions([]),
        ),
      150,
    )
    return () => clearTimeout(timer)
  }, [server, value, context])
  return (
    <label className="field">
      <span className="field-label">
        {label}{' '}
        {required ? <span className="required">required</span> : <span className="optional">optional</span>}
      </span>
      <input
        list={id}
        value={value}
        required={required}
        onChange={(event) => onChange(event.target.value)}
        autoComplete="off"
      />
      <datalist id={id}>
        {options.slice(0, 100).map((option) => (
          <option key={option} value={option} />
        ))}
      </datalist>
      {description !== undefined && <span className="field-hint">{description}</span>}
    </label>
  )
}

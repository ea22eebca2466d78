// fields.tsx: a text and a choice with their labels.
import { useId } from 'react'

interface TextProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly rows?: number
  readonly mono?: boolean
  readonly hint?: string
}

export function Text({
  label,
  value,
  onChange,
  required = false,
  readOnly = false,
  rows,
  mono = false,
  hint,
}: TextProps) {
  const id = useId()
  const shared = {
    id,
    value,
    required,
    readOnly,
    className: mono ? 'mono' : '',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {rows === undefined ? <input {...shared} /> : <textarea {...shared} rows={rows} />}
      {hint !== undefined && <span className="field-hint">{hint}</span>}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly (readonly [string, string])[]
}

export function Choice({ label, value, onChange, options }: ChoiceProps) {
  return (
    <label className="field">
      <span className="field-label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

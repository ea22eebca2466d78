// search-field.tsx: a text that narrows a list.
import { Icon } from './icon.tsx'

interface SearchFieldProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly placeholder?: string
  readonly className?: string
}

export function SearchField({
  label,
  value,
  onChange,
  placeholder = label,
  className = '',
}: SearchFieldProps) {
  return (
    <label className={`search-field ${className}`}>
      <span className="visually-hidden">{label}</span>
      <Icon name="search" size={14} />
      <input value={value} onChange={(event) => onChange(event.target.value)} placeholder={placeholder} />
    </label>
  )
}

// format.ts: numbers, times and sizes as people read them.

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const [minutes, hours] = [Math.floor(ms / 60_000), Math.floor(ms / 3_600_000)]
  if (minutes < 60) return parts(minutes, 'min', Math.floor((ms % 60_000) / 1000), 's')
  if (hours < 48) return parts(hours, 'h', minutes % 60, 'min')
  return parts(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function parts(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`
}

export function size(chars: number): string {
  if (chars < 1000) return `${chars} B`
  return chars < 1_000_000 ? `${(chars / 1000).toFixed(1)} kB` : `${(chars / 1_000_000).toFixed(1)} MB`
}

export function count(value: number): string {
  return value < 10_000 ? String(value) : `${(value / 1000).toFixed(value < 100_000 ? 1 : 0)}k`
}

export function clock(at: number, withMs = false): string {
  const date = new Date(at)
  const two = (value: number) => String(value).padStart(2, '0')
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  return withMs ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text
}

/** The time of today, or the day too. */
export function moment(text: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at)) return text
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  return isToday ? clock(at) : `${new Date(at).toLocaleDateString()} ${clock(at)}`
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${value} ${value === 1 ? one : many}`
}

/** A name for a file that the user saves: nothing of a path, no leading dot. */
export function fileName(wanted: string, fallback: string): string {
  const plain = wanted
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}._-]+/gu, '_')
    .replace(/^[._]+/, '')
    .slice(0, 80)
  return plain === '' ? fallback : plain
}

/** Hands a file to the browser's own download. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/** About four characters to a token, as everywhere in the program. */
export function tokens(chars: number): number {
  return Math.ceil(chars / 4)
}

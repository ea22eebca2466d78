// sparkline.tsx: the last values as a small line; a single one is a level line.
const WIDTH = 72
const HEIGHT = 18

export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  const most = Math.max(...values, 1)
  const shown = values.length === 1 ? [...values, ...values] : values
  const step = WIDTH / (shown.length - 1)
  const points = shown.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`,
  )
  return (
    <svg className="sparkline" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" strokeWidth="1.4" />
    </svg>
  )
}

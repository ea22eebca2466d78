// chart.tsx: two lines over time, drawn by uPlot. The numbers are in the tables beside it too.
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { isDark, onThemeChange } from '../theme.ts'

export type ChartData = readonly [readonly number[], ...(readonly (readonly (number | null)[])[])]

interface ChartProps {
  readonly title: string
  readonly data: ChartData
  readonly names: readonly string[]
  readonly unit: string
}

const HEIGHT = 200
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]

export default function Chart({ title, data, names, unit }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const [dark, setDark] = useState(isDark)
  useEffect(() => onThemeChange(() => setDark(isDark())), [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colours are read from the page, so it is drawn anew when they change
  useEffect(() => {
    const element = place.current
    if (!element) return undefined
    const style = getComputedStyle(element)
    const color = (name: string) => style.getPropertyValue(name).trim()
    const axis = {
      stroke: color('--dim'),
      grid: { stroke: color('--line'), width: 1 },
      ticks: { stroke: color('--line'), width: 1 },
    }
    const colors = [color('--accent'), color('--warn')]
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { live: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [
          axis,
          {
            ...axis,
            size: 68,
            // Calls are whole numbers.
            ...(unit === '' && { incrs: WHOLE_STEPS }),
            values: (_, ticks) => ticks.map((tick) => `${tick}${unit === '' ? '' : ` ${unit}`}`),
          },
        ],
        series: [
          {},
          ...names.map((label, at) => ({
            label,
            stroke: colors[at] ?? 'gray',
            width: 1.6,
            spanGaps: true,
            points: { show: false },
          })),
        ],
      },
      data as uPlot.AlignedData,
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [data, names, unit, dark])
  return (
    <figure className="chart">
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={`${title} over time: ${names.join(', ')}`} />
    </figure>
  )
}

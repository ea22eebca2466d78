// sixel.ts: pixels in DEC's sixel format: bands of six rows, drawn one colour at a time. Colours are rounded to a cube of 6 by 7
// by 6, with the rounding error given to the neighbours so that no bands show. Pure.

const RED = 6
const GREEN = 7
const BLUE = 6
const BAND = 6
/** The character for no dot; each of the six dots adds its bit. */
const NONE = 63

export interface Pixels {
  readonly width: number
  readonly height: number
  /** Red, green and blue, one byte each, row by row. */
  readonly rgb: Uint8Array
}

/** What stands between the start of the sequence and its end: printable ASCII only. */
export function sixel({ width, height, rgb }: Pixels): string {
  const colors = rounded({ width, height, rgb })
  const used = new Set(colors)
  const registers = [...used].map((color) => `#${color};2;${percents(color)}`).join('')
  const bands: string[] = []
  for (let top = 0; top < height; top += BAND)
    bands.push(band(colors, width, top, Math.min(BAND, height - top)))
  return `0;1;0q"1;1;${width};${height}${registers}${bands.join('-')}`
}

/** The number of a colour of the cube for each pixel. */
function rounded({ width, height, rgb }: Pixels): Uint8Array {
  const out = new Uint8Array(width * height)
  const left = Float32Array.from(rgb)
  const steps = [RED, GREEN, BLUE]
  const spread = (at: number, part: number) => {
    left[at] = (left[at] ?? 0) + part
  }
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      let color = 0
      for (let channel = 0; channel < 3; channel++) {
        const at = (y * width + x) * 3 + channel
        const most = (steps[channel] ?? 1) - 1
        const wanted = Math.min(255, Math.max(0, left[at] ?? 0))
        const level = Math.round((wanted * most) / 255)
        const error = wanted - (level * 255) / most
        color = color * (most + 1) + level
        if (x + 1 < width) spread(at + 3, (error * 7) / 16)
        if (y + 1 < height) {
          if (x > 0) spread(at + width * 3 - 3, (error * 3) / 16)
          spread(at + width * 3, (error * 5) / 16)
          if (x + 1 < width) spread(at + width * 3 + 3, error / 16)
        }
      }
      out[y * width + x] = color
    }
  return out
}

function percents(color: number): string {
  const blue = color % BLUE
  const green = Math.floor(color / BLUE) % GREEN
  const red = Math.floor(color / (BLUE * GREEN))
  const percent = (level: number, steps: number) => Math.round((level * 100) / (steps - 1))
  return `${percent(red, RED)};${percent(green, GREEN)};${percent(blue, BLUE)}`
}

function band(colors: Uint8Array, width: number, top: number, rows: number): string {
  const dots = new Map<number, Uint8Array>()
  for (let row = 0; row < rows; row++)
    for (let x = 0; x < width; x++) {
      const color = colors[(top + row) * width + x] ?? 0
      let line = dots.get(color)
      if (!line) {
        line = new Uint8Array(width)
        dots.set(color, line)
      }
      line[x] = (line[x] ?? 0) | (1 << row)
    }
  return [...dots].map(([color, line]) => `#${color}${runs(line)}`).join('$')
}

/** The same character four times or more is written once with a count. */
function runs(line: Uint8Array): string {
  let text = ''
  for (let at = 0; at < line.length; ) {
    let end = at + 1
    while (end < line.length && line[end] === line[at]) end++
    const char = String.fromCharCode(NONE + (line[at] ?? 0))
    text += end - at > 3 ? `!${end - at}${char}` : char.repeat(end - at)
    at = end
  }
  return text
}

// inline-image.ts: pictures between the rows of a terminal that can show them: by the protocols of kitty, iTerm2 and DEC (sixel).
// A picture of a server is decoded here and encoded anew, so a terminal never gets the bytes of another.
import { isObject } from '@plugboard/core/json'
import { decodeBase64, identifyBytes } from '@plugboard/core/tools'
import { cursor, terminalString } from '../colors.ts'
import { columnsOf, isTerminal, screenRows, write } from '../streams.ts'
import { sixel } from './sixel.ts'

export type ImageProtocol = 'kitty' | 'iterm' | 'sixel'

export interface ImageTerminal {
  readonly protocol: ImageProtocol
  /** Of one character, in pixels. */
  readonly cell: Cell
}

interface Cell {
  readonly width: number
  readonly height: number
}

type Env = Readonly<Record<string, string | undefined>>

const USUAL_CELL: Cell = { width: 10, height: 20 }
/** Where a terminal keeps the size of its characters to itself: rather too small, so that a picture stays in its rows. */
const SMALL_CELL: Cell = { width: 8, height: 15 }
const MOST_ROWS = 20
const MOST_PIXELS = 40_000_000
const DECODE_SECONDS = 5
const ANSWER_MS = 400
/** The most that kitty takes in one sequence. */
const KITTY_CHARS = 4096

/** What the environment says; PLUGBOARD_IMAGES overrules it. Undefined: it says nothing. */
export function protocolOf(env: Env): ImageProtocol | 'none' | undefined {
  const { PLUGBOARD_IMAGES: wanted, TERM = '', TERM_PROGRAM = '', LC_TERMINAL } = env
  if (wanted === 'kitty' || wanted === 'iterm' || wanted === 'sixel') return wanted
  // A multiplexer does not pass pictures on, or shows them in the wrong pane.
  if (wanted || TERM === 'dumb' || env.TMUX || env.STY || env.ZELLIJ) return 'none'
  if (TERM === 'xterm-kitty' || TERM === 'xterm-ghostty' || env.KITTY_WINDOW_ID || TERM_PROGRAM === 'ghostty')
    return 'kitty'
  if (TERM_PROGRAM === 'iTerm.app' || TERM_PROGRAM === 'WezTerm' || LC_TERMINAL === 'iTerm2') return 'iterm'
  return undefined
}

/** Which protocol the terminal of this process has. Where the environment does not say, the terminal is asked, once. */
export async function imageTerminal(env: Env): Promise<ImageTerminal | undefined> {
  if (!isTerminal(1)) return undefined
  const protocol = protocolOf(env)
  if (protocol === 'none') return undefined
  if (protocol !== undefined) return { protocol, cell: USUAL_CELL }
  const cell = await askSixel()
  return cell && { protocol: 'sixel', cell }
}

/** The size of a character, when the terminal says that it shows sixels. Keys that arrive meanwhile are kept. */
async function askSixel(): Promise<Cell | undefined> {
  const { stdin } = process
  if (!isTerminal(0) || typeof stdin.setRawMode !== 'function') return undefined
  stdin.setRawMode(true)
  let said = ''
  await new Promise<void>((done) => {
    const end = () => {
      clearTimeout(timer)
      stdin.off('data', take)
      stdin.pause()
      done()
    }
    const timer = setTimeout(end, ANSWER_MS)
    const take = (bytes: Buffer | string) => {
      said += String(bytes)
      // The answer to the second question; every terminal knows that one.
      if (/\[\?[\d;]*c/.test(said)) end()
    }
    stdin.on('data', take).resume()
    write(1, cursor.askCellSize() + cursor.askAttributes())
  })
  stdin.setRawMode(false)
  const { cell, rest } = readAnswers(said)
  if (rest !== '') stdin.unshift(Buffer.from(rest))
  return cell
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals answer with control characters
const SIZE = /\x1b\[6;(\d{1,4});(\d{1,4})t/
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals answer with control characters
const ATTRIBUTES = /\x1b\[\?([\d;]*)c/

/** Exported for its test. */
export function readAnswers(text: string): { readonly cell: Cell | undefined; readonly rest: string } {
  const [, height, width] = SIZE.exec(text) ?? []
  const [, attributes = ''] = ATTRIBUTES.exec(text) ?? []
  const rest = text.replace(SIZE, '').replace(ATTRIBUTES, '')
  const said = { width: Number(width), height: Number(height) }
  const cell = said.width > 0 && said.height > 0 ? said : SMALL_CELL
  return { cell: attributes.split(';').includes('4') ? cell : undefined, rest }
}

/** Draws the pictures of a result below what was printed. */
export async function printImages(content: readonly unknown[], env: Env): Promise<void> {
  const images = content.flatMap((part) =>
    isObject(part) && part.type === 'image' && typeof part.data === 'string' ? [part.data] : [],
  )
  if (images.length === 0) return
  const terminal = await imageTerminal(env)
  for (const data of terminal ? images : []) {
    const rows = terminal && (await imageRows(data, terminal, columnsOf(1) - 4))
    if (rows) write(1, rows.join('\n'))
  }
}

/** The picture as rows: empty ones, and a last one that draws into them. Undefined when it cannot be shown. */
export async function imageRows(
  data: string,
  { protocol, cell }: ImageTerminal,
  columns: number,
): Promise<readonly string[] | undefined> {
  const bytes = decodeBase64(data)
  if (!bytes) return undefined
  const { width = 0, height = 0 } = identifyBytes(bytes, undefined)
  if (width <= 0 || height <= 0 || width * height > MOST_PIXELS) return undefined
  const most = Math.max(1, Math.min(MOST_ROWS, screenRows(1) - 6))
  const scale = Math.min(1, (columns * cell.width) / width, (most * cell.height) / height)
  const size = {
    width: Math.max(1, Math.floor(width * scale)),
    height: Math.max(1, Math.floor(height * scale)),
  }
  const cells = { columns: Math.ceil(size.width / cell.width), rows: Math.ceil(size.height / cell.height) }
  try {
    const drawn = await draw(bytes, protocol, size, cells)
    const place = cursor.up(cells.rows) + cursor.column(2) + cursor.save()
    const back = cursor.restore() + cursor.down(cells.rows) + cursor.home()
    return [...Array.from({ length: cells.rows }, () => ''), `${place}${drawn}${back}`]
  } catch {
    // It cannot be decoded, or the optional sharp is not installed: the text says what it is.
    return undefined
  }
}

interface Cells {
  readonly columns: number
  readonly rows: number
}

async function draw(bytes: Buffer, protocol: ImageProtocol, size: Cell, cells: Cells): Promise<string> {
  const { default: sharp } = await import('sharp')
  const picture = sharp(bytes, { limitInputPixels: MOST_PIXELS, failOn: 'error' })
    .resize({ ...size, fit: 'fill' })
    .timeout({ seconds: DECODE_SECONDS })
  if (protocol === 'sixel') {
    const { data, info } = await picture
      .flatten({ background: '#fff' })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true })
    const { width, height, channels } = info
    return terminalString('P', sixel({ width, height, rgb: channels === 3 ? data : asRgb(data, channels) }))
  }
  const png = (await picture.png().toBuffer()).toString('base64')
  if (protocol === 'kitty') return kittyStrings(png, cells)
  const options = `inline=1;width=${cells.columns};height=${cells.rows};preserveAspectRatio=1`
  return terminalString(']', `1337;File=${options}:${png}`)
}

function asRgb(data: Uint8Array, channels: number): Uint8Array {
  const rgb = new Uint8Array((data.length / channels) * 3)
  for (let at = 0; at * channels < data.length; at++)
    for (let channel = 0; channel < 3; channel++)
      rgb[at * 3 + channel] = data[at * channels + (channels < 3 ? 0 : channel)] ?? 0
  return rgb
}

function kittyStrings(png: string, { columns, rows }: Cells): string {
  const parts = png.match(new RegExp(`.{1,${KITTY_CHARS}}`, 'g')) ?? []
  return parts
    .map((part, at) => {
      const more = at < parts.length - 1 ? 1 : 0
      // Shown at once, and no answer on the keyboard.
      const head = at === 0 ? `a=T,f=100,q=2,C=1,c=${columns},r=${rows},m=${more}` : `m=${more}`
      return terminalString('_', `G${head};${part}`)
    })
    .join('')
}

// chart.mjs: the contests that docs/performance.json keeps, as one SVG a benchmark: a group of bars for each contest, as
// long as the figure is beside the largest of its group. It reads as well on a light page as on a dark one.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { contestsIn, PEERS, shown } from './report.mjs'

const folder = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'charts')
const WIDTH = 720
const LABELS = 110
const FIGURES = 90
const BAR = 16
const GAP = 5
const GROUP_GAP = 18
const HEAD = 22
const STYLE = [
  'text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#24292f}',
  '.what{font-weight:600}.quiet{fill:#57606a}.ours{fill:#0969da}.theirs{fill:#8c959f}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.quiet{fill:#9198a1}.ours{fill:#4493f8}.theirs{fill:#6e7681}}',
].join('')

/** Draws every benchmark that has contests; says which files it wrote. */
export function drawCharts() {
  mkdirSync(folder, { recursive: true })
  const written = []
  for (const [name, { date, contests }] of Object.entries(contestsIn())) {
    if (contests.length === 0) continue
    const file = join(folder, `${name}.svg`)
    writeFileSync(file, chart(`npm run bench -- ${name}, ${date}`, contests))
    written.push(file)
  }
  return written
}

export function chart(caption, contests) {
  let y = 8
  const parts = []
  for (const contest of contests) {
    parts.push(...group(contest, y))
    y += HEAD + peersIn(contest).length * (BAR + GAP) + GROUP_GAP
  }
  parts.push(text(8, y + 4, caption, 'quiet'))
  const height = y + 16
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${asText(caption)}</title><style>${STYLE}</style>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function group(contest, top) {
  const { what, unit, better, of } = contest
  const most = Math.max(...Object.values(of))
  const room = WIDTH - LABELS - FIGURES - 16
  const parts = [text(8, top + 12, `${what} (${better} is better)`, 'what')]
  for (const [at, peer] of peersIn(contest).entries()) {
    const y = top + HEAD + at * (BAR + GAP)
    const length = Math.max(2, (of[peer] / most) * room)
    const kind = peer === PEERS[0] ? 'ours' : 'theirs'
    parts.push(
      text(LABELS, y + 12, peer, '', 'end'),
      `<rect class="${kind}" x="${LABELS + 8}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="3"/>`,
      text(LABELS + 14 + length, y + 12, shown(of[peer], unit), 'quiet'),
    )
  }
  return parts
}

const peersIn = ({ of }) => PEERS.filter((peer) => of[peer] !== undefined)

function text(x, y, words, kind, anchor) {
  const attributes = `${kind ? ` class="${kind}"` : ''}${anchor ? ` text-anchor="${anchor}"` : ''}`
  return `<text x="${Number(x.toFixed(1))}" y="${y}"${attributes}>${asText(words)}</text>`
}

function asText(words) {
  return words
    .replaceAll('`', '')
    .replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign])
}

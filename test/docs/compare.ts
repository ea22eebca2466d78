// compare.ts: whether a command printed what the page shows. Times, dates, ports and column widths vary from run to
// run and are not compared; `…` stands for any text in a line, and alone on a line for any lines.

const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')

const VARYING: readonly [RegExp, string][] = [
  [ESCAPES, ''],
  [/\d[\d.,]*( ?)(ms|s|µs)(?![\w])/g, '‹time›'],
  [/\d{4}-\d\d-\d\d(T[\d:.]+Z?)?/g, '‹date›'],
  [/\b\d\d:\d\d:\d\d\b/g, '‹time›'],
  [/(127\.0\.0\.1|localhost):\d+/g, '$1:‹port›'],
  [/(?<=\S) {2,}/g, '  '],
  [/[ \t]+$/gm, ''],
]

export function steady(text: string): string {
  return VARYING.reduce((at, [pattern, instead]) => at.replace(pattern, instead), text)
}

export function fits(shown: readonly string[], printed: string): boolean {
  const lines = shown.map((line) =>
    line.trim() === '…' ? '(?:.*\n)*?' : `${steady(line).split('…').map(literal).join('.*?')}\n`,
  )
  const whole = printed === '' || printed.endsWith('\n') ? printed : `${printed}\n`
  return new RegExp(`^${lines.join('')}$`, 'u').test(steady(whole))
}

function literal(text: string): string {
  return text.replace(
    /[\\^$.*+?()[\]{}|/-]/g,
    (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

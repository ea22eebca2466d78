// line-endings.ts: texts are compared with `\n` between lines; a file keeps the line ends and the byte order mark that it has.

export interface PlainText {
  /** With `\n` between lines, without a byte order mark. */
  readonly text: string
  /** Gives a changed text the form of the file again. */
  restore(text: string): string
}

export function plainText(written: string): PlainText {
  const mark = written.startsWith('\ufeff') ? '\ufeff' : ''
  const body = written.slice(mark.length)
  const isWindows = body.includes('\r\n') && !/(?<!\r)\n/.test(body)
  return {
    text: isWindows ? body.replaceAll('\r\n', '\n') : body,
    restore: (text) => mark + (isWindows ? text.replaceAll(/\r?\n/g, '\r\n') : text),
  }
}

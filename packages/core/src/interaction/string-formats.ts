// string-formats.ts: the string formats of JSON Schema that forms and tool arguments are validated against. Each
// check takes linear time; a format that is not here is an annotation and passes.

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/
const TIME = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)$/i
const EMAIL =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const UUID = /^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const DURATION = /^P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W)$/
const URI_CHARS = /^(?:[a-z0-9\-._~:/?#[\]@!$&'()*+,;=]|%[0-9a-f]{2})*$/i
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const JSON_POINTER = /^(?:\/(?:[^~/]|~0|~1)*)*$/
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

type Check = (text: string) => boolean

const FORMATS = new Map<string, Check>([
  ['date', isDate],
  ['time', isTime],
  ['date-time', isDateTime],
  ['duration', (text) => DURATION.test(text)],
  ['email', (text) => text.length <= 320 && EMAIL.test(text)],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['uri', isUri],
  ['uri-reference', (text) => isUri(text) || isRelativeUri(text)],
  ['uuid', (text) => UUID.test(text)],
  ['json-pointer', (text) => JSON_POINTER.test(text)],
])

/** The check for a format, or undefined when the format is not enforced. */
export function formatCheck(format: unknown): Check | undefined {
  return typeof format === 'string' ? FORMATS.get(format) : undefined
}

function isDate(text: string): boolean {
  const match = DATE.exec(text)
  if (!match) return false
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number]
  if (day < 1 || day > (MONTH_DAYS[month - 1] ?? 0)) return false
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  return month !== 2 || day < 29 || leap
}

function isTime(text: string): boolean {
  const match = TIME.exec(text)
  if (!match) return false
  if (match[3] !== '60') return true
  // A leap second is the last second of a day in UTC.
  const minutes = Number(match[1]) * 60 + Number(match[2]) - offsetMinutes(match[5] ?? 'Z')
  return ((minutes % 1440) + 1440) % 1440 === 1439
}

function offsetMinutes(zone: string): number {
  if (/^z$/i.test(zone)) return 0
  const sign = zone.startsWith('-') ? -1 : 1
  const digits = zone.slice(1).replace(':', '')
  return sign * (Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2) || 0))
}

function isDateTime(text: string): boolean {
  return (
    text.length <= 64 && /[t\s]/i.test(text[10] ?? '') && isDate(text.slice(0, 10)) && isTime(text.slice(11))
  )
}

function isHostname(text: string): boolean {
  if (text === '' || text.length > 253) return false
  const labels = (text.endsWith('.') ? text.slice(0, -1) : text).split('.')
  return labels.every((label) => LABEL.test(label))
}

function isIpv4(text: string): boolean {
  const parts = text.split('.')
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255)
}

function isIpv6(text: string): boolean {
  if (text.length > 45 || !/^[0-9a-f:.]+$/i.test(text)) return false
  const halves = text.split('::')
  if (halves.length > 2) return false
  const groups = halves.map((half) => (half === '' ? [] : half.split(':')))
  const all = groups.flat()
  let count = all.length
  const last = all.at(-1)
  if (last?.includes('.')) {
    if (!isIpv4(last) || text.endsWith('::')) return false
    all.pop()
    count++
  }
  if (!all.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return false
  return halves.length === 2 ? count < 8 : count === 8
}

function isUri(text: string): boolean {
  const colon = text.indexOf(':')
  if (colon < 1 || !/^[a-z][a-z0-9+.-]*$/i.test(text.slice(0, colon)) || !URI_CHARS.test(text)) return false
  return isHierarchical(text.slice(colon + 1))
}

function isRelativeUri(text: string): boolean {
  if (!URI_CHARS.test(text)) return false
  const segment = text.split(/[/?#]/, 1)[0] ?? ''
  return !segment.includes(':') && isHierarchical(text)
}

/** The part after the scheme: one fragment at most, and brackets only around an address. */
function isHierarchical(rest: string): boolean {
  if (rest.indexOf('#') !== rest.lastIndexOf('#')) return false
  if (!rest.startsWith('//')) return !/[[\]]/.test(rest)
  const authority = rest.slice(2).split(/[/?#]/, 1)[0] ?? ''
  if (/[[\]]/.test(rest.slice(2 + authority.length))) return false
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (host.startsWith('[')) {
    const match = /^\[([^\]]*)\](?::\d*)?$/.exec(host)
    return match !== null && (isIpv6(match[1] ?? '') || /^v[0-9a-f]+\./i.test(match[1] ?? ''))
  }
  return /^[^:[\]]*(?::\d*)?$/.test(host)
}

// parse-message.ts: one message of a client, parsed and classified. What is not JSON, or nested so deeply that it could not
// be passed on, is refused here.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { errorReply, type Incoming, isObject, RPC, sort } from './json-rpc.ts'

export function parseMessage(text: string): Incoming {
  if (isTooDeep(text)) return { kind: 'bad', reply: tooDeep(text) }
  const value = parsed(text)
  return value === undefined
    ? { kind: 'bad', reply: errorReply(null, RPC.parse, 'This is not JSON.') }
    : sort(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The id is looked for only where that is cheap: deep JSON is slow to parse. */
function tooDeep(text: string) {
  const value = text.length <= GATEWAY_LIMITS.deepChars ? parsed(text) : undefined
  const message = `A message may be nested ${GATEWAY_LIMITS.nesting} levels deep: send less, or send it as text.`
  return errorReply(isObject(value) ? value.id : null, RPC.invalidRequest, message)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Counts brackets only; whether they match is left to the parser. */
function isTooDeep(text: string): boolean {
  const { nesting } = GATEWAY_LIMITS
  if (text.length < 2 * nesting) return false
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    // A bracket and a brace differ by one bit.
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    else if ((code | 0x20) === 0x7b) {
      if (++depth > nesting) return true
    } else if ((code | 0x20) === 0x7d) depth--
  }
  return false
}

/** Where the string that opens here closes: at the first quote that is not escaped. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return end
  }
  return text.length
}

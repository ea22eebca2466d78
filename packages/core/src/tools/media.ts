// media.ts: detects what bytes are, whatever the server claims: type by content, size of an image by its header. It
// decodes nothing; images.ts does, after checking the size here.

export interface Media {
  readonly mimeType: string
  readonly extension: string
  readonly width?: number
  readonly height?: number
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'application/gzip': 'gz',
  'application/json': 'json',
  'application/octet-stream': 'bin',
  'application/pdf': 'pdf',
  'application/xml': 'xml',
  'application/zip': 'zip',
  'audio/aac': 'aac',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/webm': 'weba',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/gif': 'gif',
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/svg+xml': 'svg',
  'image/tiff': 'tiff',
  'image/webp': 'webp',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'md',
  'text/plain': 'txt',
  'video/mp4': 'mp4',
  'video/webm': 'webm',
}

/**
 * By content first; the claimed type counts only where the bytes do not tell, and never makes something an image.
 *
 * @example
 * console.log(identifyBytes(Buffer.from('%PDF-1.7\n'), 'image/png').mimeType) // application/pdf
 */
export function identify(bytes: Buffer, claimed: string | undefined): Media {
  const found = byContent(bytes)
  if (found) return { ...found, extension: EXTENSIONS[found.mimeType] ?? 'bin' }
  const type = claimedType(claimed)
  if (type === undefined || /^image\/(?!svg)/.test(type))
    return { mimeType: 'application/octet-stream', extension: 'bin' }
  return { mimeType: type, extension: EXTENSIONS[type] ?? 'bin' }
}

function claimedType(claimed: string | undefined): string | undefined {
  const type = claimed?.split(';', 1)[0]?.trim().toLowerCase()
  return type !== undefined && /^[a-z]+\/[a-z0-9.+-]{1,80}$/.test(type) ? type : undefined
}

function byContent(bytes: Buffer): Omit<Media, 'extension'> | undefined {
  const starts = (signature: string, at = 0) =>
    bytes.length >= at + signature.length && bytes.toString('latin1', at, at + signature.length) === signature
  if (starts('\x89PNG\r\n\x1a\n')) return { mimeType: 'image/png', ...size(bytes, 24, readPng) }
  if (starts('\xff\xd8\xff')) return { mimeType: 'image/jpeg', ...readJpeg(bytes) }
  if (starts('GIF87a') || starts('GIF89a')) return { mimeType: 'image/gif', ...size(bytes, 10, readGif) }
  if (starts('RIFF') && starts('WEBP', 8)) return { mimeType: 'image/webp', ...size(bytes, 30, readWebp) }
  if (starts('RIFF') && starts('WAVE', 8)) return { mimeType: 'audio/wav' }
  if (starts('ID3') || (bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2))
    return { mimeType: 'audio/mpeg' }
  if (starts('OggS')) return { mimeType: 'audio/ogg' }
  if (starts('fLaC')) return { mimeType: 'audio/flac' }
  if (starts('%PDF-')) return { mimeType: 'application/pdf' }
  if (starts('PK\x03\x04')) return { mimeType: 'application/zip' }
  if (starts('\x1f\x8b')) return { mimeType: 'application/gzip' }
  if (starts('ftypavif', 4)) return { mimeType: 'image/avif' }
  if (starts('II*\0') || starts('MM\0*')) return { mimeType: 'image/tiff' }
  return undefined
}

interface Size {
  readonly width: number
  readonly height: number
}

function size(bytes: Buffer, needs: number, read: (bytes: Buffer) => Size | undefined): Partial<Size> {
  return bytes.length >= needs ? (read(bytes) ?? {}) : {}
}

function readPng(bytes: Buffer): Size {
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function readGif(bytes: Buffer): Size {
  return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function readWebp(bytes: Buffer): Size | undefined {
  const kind = bytes.toString('latin1', 12, 16)
  if (kind === 'VP8X') return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (kind === 'VP8 ')
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (kind !== 'VP8L') return undefined
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

/** Walks the segments to the one that holds the size. */
function readJpeg(bytes: Buffer): Partial<Size> {
  let at = 2
  for (let segments = 0; segments < 1000 && at + 9 < bytes.length; segments++) {
    if (bytes[at] !== 0xff) return {}
    const marker = bytes[at + 1] ?? 0
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return {}
}

/**
 * Bytes from base64 of either alphabet, also from a `data:` URL; undefined when it is not base64.
 *
 * @example
 * console.log(decodeBase64('aGVsbG8=')?.toString()) // hello
 */
export function decodeBase64(text: string): Buffer | undefined {
  const comma = text.startsWith('data:') ? text.indexOf(',') : -1
  const body = (comma > 0 && comma < 200 ? text.slice(comma + 1) : text).replace(/\s+/g, '')
  if (body === '' || !/^[A-Za-z0-9+/_-]*={0,2}$/.test(body)) return undefined
  const bare = body.endsWith('=') ? body.replace(/=+$/, '') : body
  if (bare.length % 4 === 1) return undefined
  return Buffer.from(bare, 'base64')
}

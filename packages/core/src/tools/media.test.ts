// What bytes are, by their first ones, and which pictures a model is shown.
import sharp from 'sharp'
import { describe, expect, it } from 'vitest'
import { RESULT_LIMITS, TOOL_LIMITS } from '../limits.ts'
import { fitForModel, isPicture } from './images.ts'
import { decodeBase64, identify } from './media.ts'

const bytes = (text: string, ...more: number[]) =>
  Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(more)])
const PNG = '\x89PNG\r\n\x1a\n'
const png = (length: number) =>
  Buffer.concat([bytes(PNG), bytes('\0\0\0\rIHDR', 0, 0, 1, 2, 0, 0, 3, 4, 0)]).subarray(0, length)
const webp = (kind: string, ...rest: number[]) =>
  Buffer.concat([bytes('RIFF\0\0\0\0WEBP'), bytes(kind), Buffer.from(rest)])
const segment = (marker: number, ...rest: number[]) => [0xff, marker, 0, rest.length + 2, ...rest]
const jpeg = (...rest: number[]) => Buffer.from([0xff, 0xd8, ...rest, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

describe('bytes', () => {
  it.each<[string, Buffer, string, string]>([
    ['a PNG', bytes(PNG), 'image/png', 'png'],
    ['a JPEG', bytes('\xff\xd8\xff'), 'image/jpeg', 'jpg'],
    ['an old GIF', bytes('GIF87a'), 'image/gif', 'gif'],
    ['a GIF', bytes('GIF89a'), 'image/gif', 'gif'],
    ['a WebP', bytes('RIFF....WEBP'), 'image/webp', 'webp'],
    ['a WAV', bytes('RIFF....WAVE'), 'audio/wav', 'wav'],
    ['an MP3 with a tag', bytes('ID3'), 'audio/mpeg', 'mp3'],
    ['an MP3', bytes('', 0xff, 0xfb), 'audio/mpeg', 'mp3'],
    ['an Ogg', bytes('OggS'), 'audio/ogg', 'ogg'],
    ['a FLAC', bytes('fLaC'), 'audio/flac', 'flac'],
    ['a PDF', bytes('%PDF-'), 'application/pdf', 'pdf'],
    ['a ZIP', bytes('PK\x03\x04'), 'application/zip', 'zip'],
    ['a gzip', bytes('\x1f\x8b'), 'application/gzip', 'gz'],
    ['an AVIF', bytes('....ftypavif'), 'image/avif', 'avif'],
    ['a TIFF', bytes('II*\0'), 'image/tiff', 'tiff'],
    ['a TIFF of the other order', bytes('MM\0*'), 'image/tiff', 'tiff'],
  ])('are %s, whatever is claimed', (_, data, mimeType, extension) => {
    expect(identify(data, 'text/html')).toEqual({ mimeType, extension })
    // One byte less is not it.
    expect(identify(data.subarray(0, -1), undefined).mimeType).toBe('application/octet-stream')
  })

  it.each<[string, Buffer]>([
    ['RIFF of another kind', bytes('RIFF....AVI ')],
    ['WEBP without RIFF', bytes('........WEBP')],
    ['0xff alone', bytes('', 0xff, 0x00)],
    ['a layer that MP3 does not have', bytes('', 0xff, 0xe0)],
    ['another first byte', bytes('', 0x00, 0xfb)],
    ['text', bytes('hello')],
  ])('are of no known kind: %s', (_, data) => {
    expect(identify(data, undefined)).toEqual({ mimeType: 'application/octet-stream', extension: 'bin' })
  })

  it.each<[string | undefined, string, string]>([
    ['text/csv', 'text/csv', 'csv'],
    [' Text/CSV ; charset=utf-8', 'text/csv', 'csv'],
    ['application/x-own', 'application/x-own', 'bin'],
    ['image/png', 'application/octet-stream', 'bin'],
    ['image/svg+xml', 'image/svg+xml', 'svg'],
    ['../../etc', 'application/octet-stream', 'bin'],
    ['text', 'application/octet-stream', 'bin'],
    [`text/${'x'.repeat(80)}`, `text/${'x'.repeat(80)}`, 'bin'],
    [`text/${'x'.repeat(81)}`, 'application/octet-stream', 'bin'],
    [undefined, 'application/octet-stream', 'bin'],
  ])('that do not tell are what is claimed: %s', (claimed, mimeType, extension) => {
    expect(identify(bytes('hello'), claimed)).toEqual({ mimeType, extension })
  })

  it.each<[string, Buffer, number | undefined, number | undefined]>([
    ['PNG', png(24), 0x102, 0x304],
    ['PNG, cut', png(23), undefined, undefined],
    ['GIF', bytes('GIF89a', 1, 2, 3, 4), 0x201, 0x403],
    ['GIF, cut', bytes('GIF89a', 1, 2, 3), undefined, undefined],
    ['WebP, extended', webp('VP8X', 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 19, 0, 0), 10, 20],
    ['WebP, lossy', webp('VP8 ', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0x40, 6, 0x80), 5, 6],
    ['WebP, lossless', webp('VP8L', 0, 0, 0, 0, 0x2f, 4, 0x40, 1, 0, 0, 0, 0, 0, 0), 5, 6],
    ['WebP, unknown', webp('VP9 ', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 6, 0), undefined, undefined],
    ['WebP, cut', webp('VP8X', 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 19, 0), undefined, undefined],
    ['JPEG', jpeg(...segment(0xc0, 8, 1, 2, 3, 4)), 0x304, 0x102],
    [
      'JPEG, progressive, after others',
      jpeg(...segment(0xe0, 1, 2, 3), ...segment(0xc4, 9, 9, 9, 9, 9), ...segment(0xc2, 8, 0, 7, 0, 8)),
      8,
      7,
    ],
    ['JPEG, the last marker with a size', jpeg(...segment(0xcf, 8, 0, 7, 0, 8)), 8, 7],
    ['JPEG, no size in the one before', jpeg(...segment(0xbf, 8, 0, 7, 0, 8)), undefined, undefined],
    ['JPEG, no size in the one behind', jpeg(...segment(0xd0, 8, 0, 7, 0, 8)), undefined, undefined],
    [
      'JPEG, no size in these',
      jpeg(...segment(0xc8, 8, 0, 1, 0, 1), ...segment(0xcc, 8, 0, 2, 0, 2), ...segment(0xc1, 8, 0, 3, 0, 4)),
      4,
      3,
    ],
    ['JPEG, broken', jpeg(0xff, 0xe0, 0, 4, 1, 2, 0xaa, 0xc0, 0, 8, 0, 7, 0, 8), undefined, undefined],
  ])('have a size in their header: %s', (_, data, width, height) => {
    const media = identify(data, undefined)
    expect([media.width, media.height]).toEqual([width, height])
  })
})

describe('base64', () => {
  it.each<[string, string | undefined]>([
    ['aGk=', 'hi'],
    ['aGk', 'hi'],
    ['aGkh', 'hi!'],
    ['a', undefined],
    ['aGk===', undefined],
    ['aG=k', undefined],
    ['', undefined],
    ['=', ''],
    [' \n', undefined],
    ['data:,aGk', 'hi'],
    [`data:${'x'.repeat(194)},aGk`, 'hi'],
    [`data:${'x'.repeat(195)},aGk`, undefined],
    ['data:aGk', undefined],
    ['xdata:,aGk', undefined],
  ])('%s is %s', (text, decoded) => {
    expect(decodeBase64(text)?.toString()).toBe(decoded)
  })
})

describe('a picture for a model', () => {
  const small = Buffer.alloc(10)
  const media = (mimeType: string, width?: number, height?: number) => ({
    mimeType,
    extension: 'x',
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
  })

  it('is a picture unless it is drawn by a program', () => {
    expect(isPicture(media('image/png'))).toBe(true)
    expect(isPicture(media('image/svg+xml'))).toBe(false)
    expect(isPicture(media('video/image'))).toBe(false)
  })

  it.each<[string, number | undefined, number | undefined, string]>([
    ['image/png', undefined, 5, 'its header is broken'],
    ['image/png', 5, undefined, 'its header is broken'],
    ['image/jpeg', 0, 5, 'its header is broken'],
    ['image/gif', 5, 0, 'its header is broken'],
    ['image/tiff', undefined, undefined, 'image/tiff is not shown to models'],
    ['image/png', 8001, 8000, '8001 × 8000 pixels are too many to decode'],
    ['image/png', 8000, 8000, 'it could not be decoded'],
  ])('is not shown: %s of %s × %s', async (mimeType, width, height, why) => {
    expect(await fitForModel(small, media(mimeType, width, height))).toEqual({ kind: 'file-only', why })
  })

  it.each([
    [TOOL_LIMITS.imagePixels, 1, TOOL_LIMITS.imageBytes, 'as-is'],
    [1, TOOL_LIMITS.imagePixels, 10, 'as-is'],
    [TOOL_LIMITS.imagePixels + 1, 1, 10, 'file-only'],
    [1, TOOL_LIMITS.imagePixels + 1, 10, 'file-only'],
    [5, 5, TOOL_LIMITS.imageBytes + 1, 'file-only'],
  ])('of %i × %i pixels and %i bytes is %s', async (width, height, size, kind) => {
    expect((await fitForModel(Buffer.alloc(size), media('image/png', width, height))).kind).toBe(kind)
  })

  it('keeps its type when it is made smaller, and a type that models do not take becomes PNG', async () => {
    const wide = {
      create: { width: TOOL_LIMITS.imagePixels + 100, height: 10, channels: 3 as const, background: '#c33' },
    }
    for (const [format, mimeType] of [
      ['png', 'image/png'],
      ['jpeg', 'image/jpeg'],
      ['webp', 'image/png'],
    ] as const) {
      const data = await sharp(wide).toFormat(format).toBuffer()
      const shown = await fitForModel(data, identify(data, undefined))
      expect(shown).toMatchObject({ kind: 'resized', mimeType, width: TOOL_LIMITS.imagePixels })
    }
    const tiff = await sharp({ create: { ...wide.create, width: 20 } })
      .tiff()
      .toBuffer()
    expect(await fitForModel(tiff, media('image/tiff', 20, 10))).toMatchObject({
      kind: 'resized',
      mimeType: 'image/png',
      width: 20,
    })
    expect(RESULT_LIMITS.decodedPixels).toBe(8000 * 8000)
  })
})

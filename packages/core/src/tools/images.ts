// images.ts: makes images small enough for a model. Uses sharp when it is installed; without it a large image stays a
// file that the model is told about. An image is only decoded when its header states a size that fits in memory.
import { RESULT_LIMITS, TOOL_LIMITS } from '../limits.ts'
import type { Media } from './media.ts'

/** Image types that models accept. */
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export type Shown =
  | { readonly kind: 'as-is' }
  | {
      readonly kind: 'resized'
      readonly bytes: Buffer
      readonly mimeType: string
      readonly width: number
      readonly height: number
    }
  /** Not for the model; the text says why. */
  | { readonly kind: 'file-only'; readonly why: string }

type Sharp = typeof import('sharp')

export function isPicture(media: Media): boolean {
  return media.mimeType.startsWith('image/') && media.mimeType !== 'image/svg+xml'
}

export async function fitForModel(bytes: Buffer, media: Media): Promise<Shown> {
  const { width, height } = media
  if (width === undefined || height === undefined || width === 0 || height === 0)
    return SHOWN.has(media.mimeType)
      ? { kind: 'file-only', why: 'its header is broken' }
      : { kind: 'file-only', why: `${media.mimeType} is not shown to models` }
  if (width * height > RESULT_LIMITS.decodedPixels)
    return { kind: 'file-only', why: `${width} × ${height} pixels are too many to decode` }
  const small = Math.max(width, height) <= TOOL_LIMITS.imagePixels && bytes.length <= TOOL_LIMITS.imageBytes
  if (small && SHOWN.has(media.mimeType)) return { kind: 'as-is' }
  const sharp = await loadSharp()
  if (!sharp)
    return {
      kind: 'file-only',
      why: `it is ${width} × ${height} pixels and "sharp", which resizes, is not installed`,
    }
  try {
    return await resize(sharp, bytes, media.mimeType)
  } catch {
    // Only sharp throws here, and only because the image cannot be decoded in time or at all.
    return { kind: 'file-only', why: 'it could not be decoded' }
  }
}

/** Fewer pixels first; when that is not enough, a lower JPEG quality. */
async function resize(sharp: Sharp, bytes: Buffer, mimeType: string): Promise<Shown> {
  for (const [pixels, quality] of [
    [TOOL_LIMITS.imagePixels, 85],
    [TOOL_LIMITS.imagePixels, 60],
    [TOOL_LIMITS.imagePixels / 2, 60],
  ] as const) {
    const picture = sharp
      .default(bytes, { limitInputPixels: RESULT_LIMITS.decodedPixels, failOn: 'error' })
      .rotate()
      .resize({ width: pixels, height: pixels, fit: 'inside', withoutEnlargement: true })
      .timeout({ seconds: RESULT_LIMITS.imageMs / 1000 })
    const asJpeg = mimeType === 'image/jpeg' || quality < 85
    const encoded = asJpeg ? picture.flatten({ background: '#fff' }).jpeg({ quality }) : picture.png()
    const { data, info } = await encoded.toBuffer({ resolveWithObject: true })
    if (data.length <= TOOL_LIMITS.imageBytes)
      return {
        kind: 'resized',
        bytes: data,
        mimeType: asJpeg ? 'image/jpeg' : 'image/png',
        width: info.width,
        height: info.height,
      }
  }
  return { kind: 'file-only', why: 'it stays too large after resizing' }
}

async function loadSharp(): Promise<Sharp | undefined> {
  try {
    return await import('sharp')
  } catch {
    // An optional dependency: not installed, or not for this platform.
    return undefined
  }
}

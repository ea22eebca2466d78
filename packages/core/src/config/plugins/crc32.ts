// crc32.ts: the checksum of zip files. Node's zlib has it only since 20.15, and the unzip library does not check it.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

/** The checksum of `bytes`, continued from the given one. */
export function crc32(bytes: Uint8Array, before = 0): number {
  let sum = ~before
  for (const byte of bytes) sum = (sum >>> 8) ^ (TABLE[(sum ^ byte) & 0xff] ?? 0)
  return ~sum >>> 0
}

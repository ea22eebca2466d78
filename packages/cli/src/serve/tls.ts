// tls.ts: the certificate of `serve --http`, from the files that gateway.json names, also when they are replaced while it runs.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { InvalidInput } from '@plugboard/core/errors'
import type { Certificate, HttpHandle } from '@plugboard/gateway'
import type { Invocation } from '../context.ts'
import { write } from '../streams.ts'
import type { GatewayFile } from './gateway-file.ts'
import { followFile } from './watch-file.ts'

/** Undefined without "tls". Throws when the files cannot be read, or do not belong together. */
export function readCertificate(gateway: GatewayFile | undefined): Certificate | undefined {
  const tls = gateway?.config.tls
  if (!gateway || !tls) return undefined
  const text = (name: 'cert' | 'key') => {
    const file = resolve(dirname(gateway.file), tls[name])
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      throw new InvalidInput(`"tls.${name}": ${file} cannot be read${code ? ` (${code})` : ''}.`, {
        cause: error,
      })
    }
  }
  const certificate = { cert: text('cert'), key: text('key') }
  try {
    createSecureContext(certificate)
  } catch (error) {
    throw new InvalidInput(
      `"tls" of ${gateway.file}: the certificate and the key cannot be used: ${error instanceof Error ? error.message : error}.`,
      { hint: 'Both are PEM files, and the key is that of the first certificate.', cause: error },
    )
  }
  return certificate
}

/** Returns what ends following the files. */
export function followCertificate(
  { output }: Invocation,
  gateway: GatewayFile | undefined,
  handle: HttpHandle,
): () => void {
  const tls = gateway?.config.tls
  if (!gateway || !tls) return () => undefined
  const followed = [tls.cert, tls.key].map((name) =>
    followFile(resolve(dirname(gateway.file), name), {
      title: `"tls": ${name}`,
      kept: 'The certificate of before stays in use',
      read: () => {
        const certificate = readCertificate(gateway)
        if (certificate) handle.setCertificate(certificate)
      },
      tell: (text) => {
        if (!output.quiet) write(2, `${text}\n`)
      },
    }),
  )
  return () => {
    for (const one of followed) one.stop()
  }
}

// gateway-file.ts: gateway.json on disk: reading it, and the files that it names. What may be in it is decided by the gateway.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { plugboardHome } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { type ConfigFault, faultText, type GatewayConfig, readGatewayConfig } from '@plugboard/gateway'
import type { Invocation } from '../context.ts'

export interface GatewayFile {
  readonly file: string
  readonly config: GatewayConfig
}

/** Throws with every fault of the file. */
export function loadGatewayFile(file: string): GatewayFile {
  const reading = readGatewayConfig(readText(file), file)
  if (reading.ok) return { file, config: reading.config }
  throw unusable(file, reading.faults)
}

/** The text of the file; throws when it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidInput(`--gateway: ${file} cannot be read${code ? ` (${code})` : ''}.`, {
      hint: 'Check that the file is there and that you may read it.',
      cause: error,
    })
  }
}

function unusable(file: string, faults: readonly ConfigFault[]): InvalidInput {
  return new InvalidInput(faults.map((fault) => faultText(file, fault)).join('\n'), {
    hint: `\`plugboard gateway check ${file}\` explains the file.`,
  })
}

/** The file that `--gateway` names. */
export function gatewayOption(invocation: Invocation): GatewayFile | undefined {
  const given = invocation.option('gateway')
  return given === undefined ? undefined : loadGatewayFile(resolve(invocation.cwd, given))
}

/** Where the named tokens are: paths in gateway.json are relative to it. */
export function tokensFile({ host }: Pick<Invocation, 'host'>, gateway: GatewayFile | undefined): string {
  const named = gateway?.config.auth?.tokens
  return gateway && named !== undefined
    ? resolve(dirname(gateway.file), named)
    : join(plugboardHome(host), 'gateway-tokens.json')
}

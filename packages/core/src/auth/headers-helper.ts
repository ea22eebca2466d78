// headers-helper.ts: runs the user's command that prints request headers as a JSON object. Bounded in time and
// output; what it prints is never repeated in an error, for it is most likely a secret.
import type { ChildProcess } from 'node:child_process'
import { HEADERS_HELPER_LIMITS } from '../limits.ts'
import type { AuthContext, RemoteServer } from './context.ts'
import { AuthRefused } from './refusal.ts'

export async function runHeadersHelper(
  server: RemoteServer,
  { host }: AuthContext,
): Promise<Record<string, string>> {
  const command = server.entry.headersHelper
  if (command === undefined) return {}
  const { url } = server.entry
  const child = host.spawn(command, [], {
    // It is a command line, as in a settings file of the user; a project's needs the user's approval first.
    shell: true,
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: host.platform !== 'win32',
    env: {
      ...host.env,
      PLUGBOARD_SERVER_NAME: server.name,
      PLUGBOARD_SERVER_URL: url,
      CLAUDE_CODE_MCP_SERVER_NAME: server.name,
      CLAUDE_CODE_MCP_SERVER_URL: url,
    },
  })
  const output = await new Promise<string>((done, fail) => {
    const refuse = (how: string) => {
      killGroup(child)
      fail(refused(server, how))
    }
    const cancel = host.timer(HEADERS_HELPER_LIMITS.timeoutMs, () =>
      refuse(`did not finish within ${HEADERS_HELPER_LIMITS.timeoutMs / 1000} s`),
    )
    const chunks: Buffer[] = []
    let size = 0
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > HEADERS_HELPER_LIMITS.outputBytes) refuse('printed too much')
      else chunks.push(chunk)
    })
    child.once('error', () => {
      cancel()
      fail(refused(server, 'could not be started'))
    })
    child.once('close', (code, signal) => {
      cancel()
      if (code === 0) done(Buffer.concat(chunks).toString('utf8'))
      else fail(refused(server, signal ? `was ended by ${signal}` : `ended with code ${code}`))
    })
  })
  return parseHeaders(server, output)
}

function parseHeaders(server: RemoteServer, output: string): Record<string, string> {
  let parsed: unknown
  try {
    parsed = JSON.parse(output)
  } catch {
    throw refused(server, 'did not print JSON')
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw refused(server, 'did not print a JSON object')
  const headers = new Headers()
  for (const [name, value] of Object.entries(parsed)) {
    if (typeof value !== 'string') throw refused(server, 'printed a header that is not a string')
    try {
      headers.set(name, value)
    } catch {
      throw refused(server, 'printed something that is not a valid header')
    }
  }
  return Object.fromEntries(headers)
}

function refused(server: RemoteServer, how: string): AuthRefused {
  return new AuthRefused('bad-headers-helper', `The headersHelper of "${server.name}" ${how}.`, {
    server: server.name,
    hint: 'Run the command by hand: it has to print one JSON object of header names and values.',
  })
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && process.platform !== 'win32') process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    // It ended by itself in this very moment.
  }
}

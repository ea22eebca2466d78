// nginx.ts: the reverse proxy of deploy/nginx.conf in front of one port, for one test: files in a folder of its own, ended by its process id.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.mjs'
import { probe, until } from './gateway.ts'

export const hasNginx = spawnSync('nginx', ['-v'], { stdio: 'ignore' }).status === 0

export interface Proxy {
  readonly port: number
  stop(): Promise<void>
}

export async function startNginx(behind: number): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-nginx-'))
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ')
  const recipe = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8')
    .replace('server gateway:7337', `server 127.0.0.1:${behind}`)
    .replace('listen 8080;', `listen 127.0.0.1:${port};`)
    .replace('access_log off;', `access_log off; ${temporary}`)
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;\n${recipe}`)
  const child = spawn('nginx', ['-p', folder, '-c', file], { stdio: 'ignore' })
  const stop = async () => {
    const ended = once(child, 'exit')
    if (child.kill('SIGTERM')) await ended
    rmSync(folder, { recursive: true, force: true })
  }
  await until(async () => (await probe(port, '/health')).status === 200)
  return { port, stop }
}

// The files of deploy/: as far as the programs that read them are here, those say whether they are right.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readGatewayConfig } from '@plugboard/gateway'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const deploy = fileURLToPath(new URL('../deploy/', import.meta.url))
const read = (...path: string[]) => readFileSync(join(deploy, ...path), 'utf8')
const has = (program: string) => spawnSync('which', [program]).status === 0
const folder = mkdtempSync(join(tmpdir(), 'plugboard-deploy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('deploy/', () => {
  it.skipIf(!has('systemd-analyze'))('the unit is accepted by systemd', () => {
    const done = spawnSync('systemd-analyze', ['verify', join(deploy, 'plugboard-gateway.service')], {
      encoding: 'utf8',
    })
    expect([done.status, done.stderr]).toEqual([0, ''])
  })

  it.skipIf(!has('nginx'))('the settings of nginx are accepted by nginx', () => {
    const file = join(folder, 'nginx.conf')
    const text = read('nginx.conf').replace('server gateway:7337', 'server 127.0.0.1:7337')
    writeFileSync(file, `pid ${folder}/pid; error_log ${folder}/error.log;\n${text}`)
    execFileSync('nginx', ['-t', '-q', '-p', folder, '-c', file], { stdio: 'pipe' })
    expect(text).not.toMatch(/proxy_next_upstream[^;]*non_idempotent/)
  })

  it('the example and the values of the chart make a gateway.json without faults', () => {
    expect(readGatewayConfig(read('example', 'gateway.json'), 'gateway.json')).toMatchObject({ ok: true })
    const values = parse(read('helm', 'plugboard-gateway', 'values.yaml'))
    const made = { ...values.gateway, store: values.store, admin: { port: 7338 } }
    expect(readGatewayConfig(JSON.stringify(made), 'gateway.json')).toMatchObject({ ok: true })
    expect(parse(read('helm', 'plugboard-gateway', 'Chart.yaml'))).toMatchObject({ apiVersion: 'v2' })
  })

  it('every value that the templates name is there, and the compose file is whole', () => {
    const values = parse(read('helm', 'plugboard-gateway', 'values.yaml'))
    for (const name of readdirSync(join(deploy, 'helm/plugboard-gateway/templates'))) {
      const text = read('helm', 'plugboard-gateway', 'templates', name)
      for (const [, path = ''] of text.matchAll(/\.Values\.([\w.]+)/g))
        expect(
          path.split('.').reduce((value, key) => value?.[key], values),
          path,
        ).toBeDefined()
      expect(text.split('{{').length).toBe(text.split('}}').length)
    }
    const { services } = parse(read('compose.yaml'))
    expect(Object.keys(services)).toEqual(['gateway', 'valkey', 'nginx'])
    for (const volume of services.gateway.volumes) read(volume.split(':')[0])
  })
})

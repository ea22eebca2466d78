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

  it('the chart makes what Kubernetes takes: selectors fit, probes and ports exist, gateway.json is without faults', () => {
    const values = parse(read('helm', 'plugboard-gateway', 'values.yaml'))
    const made = Object.fromEntries(
      readdirSync(join(deploy, 'helm/plugboard-gateway/templates')).map((name) => [
        name,
        parse(renderTemplate(read('helm', 'plugboard-gateway', 'templates', name), values, 'prod')),
      ]),
    )
    const { 'config.yaml': config, 'deployment.yaml': deployment, 'service.yaml': service } = made
    const file = readGatewayConfig(config.data['gateway.json'], 'gateway.json')
    expect(file).toMatchObject({ ok: true, config: { store: values.store, admin: { port: 7338 } } })
    expect(JSON.parse(config.data['settings.json'])).toEqual(values.settings)
    const { template, selector, replicas } = deployment.spec
    expect(replicas).toBe(values.replicas)
    expect(selector.matchLabels).toEqual(template.metadata.labels)
    expect(service.spec.selector).toEqual(template.metadata.labels)
    const [container] = template.spec.containers
    expect(container.image).toBe(`${values.image.repository}:${values.image.tag}`)
    expect(container.args).toEqual(['--gateway', '/etc/plugboard/gateway.json', '--drain-ms', '30000'])
    const ports = container.ports.map(({ name }: { name: string }) => name)
    for (const probe of ['readinessProbe', 'livenessProbe'])
      expect(ports).toContain(container[probe].httpGet.port)
    expect(ports).toContain(service.spec.ports[0].targetPort)
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(30)
    const volumes = template.spec.volumes.map(({ name }: { name: string }) => name)
    for (const { name } of container.volumeMounts) expect(volumes).toContain(name)
    for (const { configMap } of template.spec.volumes) expect(configMap.name).toBe(config.metadata.name)
  })

  it('the image installs every package that the command needs and we publish', () => {
    const manifest = JSON.parse(readFileSync(join(deploy, '../packages/cli/package.json'), 'utf8'))
    for (const name of Object.keys(manifest.dependencies).filter((one) => one.startsWith('@plugboard/')))
      expect(read('Dockerfile')).toContain(name.replace('@plugboard/', './packages/'))
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

/** The few words of Go templates and Sprig that the chart uses; others throw, so that the chart does not outgrow this check unseen. */
function renderTemplate(text: string, values: unknown, release: string): string {
  const root = { Values: values, Release: { Name: release } }
  return text.replace(
    /[ \t]*\n?[ \t]*\{\{-(.*?)\}\}|\{\{(.*?)\}\}/g,
    (_, trimmed?: string, plain?: string) => {
      const made = (trimmed ?? plain ?? '')
        .split('|')
        .reduce<unknown>((given, step, at) => call(words(step), at === 0 ? [] : [given]), undefined)
      return String(made)
    },
  )

  /** Words, with what is in brackets as one. */
  function words(step: string): string[] {
    return step.match(/\((?:[^()]|\([^()]*\))*\)|"[^"]*"|\S+/g) ?? []
  }

  function lookUp(word: string): unknown {
    if (word.startsWith('(')) return call(words(word.slice(1, -1)), [])
    if (word.startsWith('"')) return JSON.parse(word)
    if (/^\d+$/.test(word)) return Number(word)
    if (!word.startsWith('.')) throw new Error(`the check does not know ${word}`)
    // biome-ignore lint/suspicious/noExplicitAny: values of a chart
    const step = (at: any, key: string) => at?.[key]
    const found = word.slice(1).split('.').reduce(step, root)
    if (found === undefined) throw new Error(`${word} is not in the values`)
    return found
  }

  function call([name = '', ...rest]: string[], piped: readonly unknown[]): unknown {
    if (name.startsWith('.') || name.startsWith('"')) return lookUp(name)
    // biome-ignore lint/suspicious/noExplicitAny: values of a chart
    const given = [...rest.map(lookUp), ...piped] as any[]
    switch (name) {
      case 'add':
        return given[0] + given[1]
      case 'mul':
        return given[0] * given[1]
      case 'dict':
        return { [given[0]]: given[1], ...(given.length > 2 && { [given[2]]: given[3] }) }
      case 'merge':
        return { ...given[1], ...given[0] }
      case 'toJson':
        return JSON.stringify(given[0])
      case 'toPrettyJson':
        return JSON.stringify(given[0], null, 2)
      case 'nindent':
        return `\n${String(given[1]).replace(/^/gm, ' '.repeat(given[0]))}`
      default:
        throw new Error(`the check does not know ${name}`)
    }
  }
}

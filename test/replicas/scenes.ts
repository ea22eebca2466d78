// scenes.ts: one row each of the correctness table: what a client does through the load balancer, and how to see that it is right. Every
// request of a scene may reach another replica.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ReplicaClient } from './clients.ts'
import { type Cluster, until } from './cluster.ts'

export interface Scene {
  readonly client: ReplicaClient
  readonly cluster: Cluster
  readonly token: string
}

const note = (server: string) => `plugboard://${server}/test://note`
let unique = 0

const updates = async ({ client }: Scene, server: string) => {
  await client.subscribe(note(server))
  // One touch reaches one replica; each of them must tell.
  for (let touches = 0; touches < 3; touches++) {
    client.heard.length = 0
    await client.call(`mcp__${server}__touch`)
    await until(() => client.heard.includes(note(server)), 5000)
  }
}

const cancels = async ({ client, cluster }: Scene, server: string) => {
  const before = count(cluster.seen, 'cancelled')
  const stop = new AbortController()
  let steps = 0
  const options = { signal: stop.signal, onprogress: () => steps++ }
  const work = client.call(`mcp__${server}__work`, { ms: 20_000 }, options).catch(() => 'gone')
  await until(() => steps > 0)
  stop.abort()
  assert.equal(await work, 'gone')
  await until(() => count(cluster.seen, 'cancelled') > before)
}

export const SCENES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  connect: async ({ client }) => assert.equal(await client.call('mcp__legacy__echo', { text: 'hi' }), 'hi'),
  'tools/list': async ({ client }) => {
    for (let n = 0; n < 3; n++) assert.ok((await client.tools()).includes('mcp__modern__echo'))
  },
  'call, prompts, resources, completion': async ({ client }) => {
    for (const server of ['legacy', 'modern']) {
      const text = `text ${++unique}`
      assert.equal(await client.call(`mcp__${server}__echo`, { text }), text)
      assert.match(await client.prompt(`mcp__${server}__greet`, { name: 'ada' }), /Hello ada/)
      assert.match(await client.read(note(server)), /a note/)
      assert.deepEqual(await client.complete(`mcp__${server}__greet`, 'name', 'a'), ['ada', 'alan'])
    }
  },
  progress: async ({ client }) => {
    const steps: (string | undefined)[] = []
    const onprogress = ({ message }: { readonly message?: string | undefined }) => void steps.push(message)
    await client.call('mcp__legacy__work', { ms: 1 }, { onprogress })
    assert.deepEqual(steps, ['step 1', 'step 2'])
  },
  log: async ({ client }) => {
    await client.setLevel('info')
    for (let n = 0; n < 3; n++) {
      const text = `careful ${++unique}`
      await client.call('mcp__legacy__note', { text })
      await until(() => client.heard.includes(text), 5000)
    }
  },
  'elicitation, legacy server': async ({ client }) =>
    assert.equal(await client.call('mcp__legacy__ask'), 'accept Ada'),
  'elicitation, modern server': async ({ client }) =>
    assert.equal(await client.call('mcp__modern__ask'), 'accept Ada'),
  sampling: async ({ client }) => {
    assert.equal(await client.call('mcp__legacy__sample'), 'small hi')
    assert.equal(await client.call('mcp__modern__sample'), 'small hi')
  },
  roots: async ({ client }) => {
    assert.equal(await client.call('mcp__legacy__where'), 'file:///Ada')
    assert.equal(await client.call('mcp__modern__where'), 'file:///Ada')
  },
  'subscribe, updated; legacy server': (scene) => updates(scene, 'legacy'),
  'subscribe, updated; modern server': (scene) => updates(scene, 'modern'),
  list_changed: async ({ client }) => {
    await client.listenToTools()
    await client.call('mcp__plain__grow', { name: `grown_${process.pid}_${++unique}` })
    await until(() => client.heard.includes('tools'), 5000)
  },
  cancellation: (scene) => cancels(scene, 'legacy'),
  'session ended': async ({ client, cluster, token }) => {
    const { sessionId } = client
    if (sessionId === undefined) return
    await client.terminate()
    for (const { port } of cluster.replicas) {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': sessionId,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      })
      await response.text()
      assert.equal(response.status, 404)
    }
  },
}

function count(file: string, word: string): number {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line === word).length
}

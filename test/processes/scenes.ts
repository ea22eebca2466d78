// scenes.ts: one call, once, in a process of its own, against a server with a fault: the table of what a user must see,
// and how one scene is run. The tests and `npm run faults` run the same table.
import { type Ended, type Home, makeHome, type RunOptions, stdioPeer, WAYS, type Way } from './kit.ts'
import { httpPeer, type RemoteFault, type RemotePeer, ssePeer, wsPeer } from './remote.ts'

interface Opened {
  /** The entry of the server. */
  readonly entry: object
  readonly peer?: RemotePeer
}

export interface ProcessScene {
  /** What the server does. */
  readonly name: string
  readonly open: (home: Home) => Promise<Opened> | Opened
  readonly tool: 'look' | 'write'
  /** The code of the error, and the exit code of the command; without it there must be an answer. */
  readonly error?: readonly [code: string, exit: number]
  /** Text that must also be in the output. */
  readonly says?: RegExp
  /** How often the server is called. */
  readonly calls?: number
}

const local = (fault: string, entry?: object) => (home: Home) => ({
  entry: stdioPeer(home, fault, { ...entry }),
})

const remote =
  (type: string, make: (fault: RemoteFault) => Promise<RemotePeer>, fault: RemoteFault) => async () => {
    const peer = await make(fault)
    return { entry: { type, url: peer.url }, peer }
  }

export const SCENES: readonly ProcessScene[] = [
  { name: 'exits once after tools/list', open: local('exits-after-list'), tool: 'look' },
  { name: 'exits once inside a read-only call', open: local('exits-in-call'), tool: 'look' },
  {
    name: 'exits once inside a read-only call, with the shortest backoff',
    open: local('exits-in-call', { reconnect: { delayMs: 1 } }),
    tool: 'look',
  },
  { name: 'exits once at initialize', open: local('exits-at:initialize'), tool: 'write' },
  { name: 'exits once at tools/list', open: local('exits-at:tools/list'), tool: 'write' },
  {
    name: 'ends its last answer without a newline, and exits',
    open: local('leaves-out-newline'),
    tool: 'write',
  },
  {
    name: 'exits once inside a writing call',
    open: local('exits-in-call'),
    tool: 'write',
    error: ['OUTCOME_UNKNOWN', 4],
    says: /exited with code 3\.\\?n?\s*Last stderr lines:\\?n?\s*the disk is on fire/,
  },
  {
    name: 'never answers a call',
    open: local('never-answers', { timeout: 700 }),
    tool: 'look',
    error: ['TIMEOUT', 7],
  },
  {
    name: 'sends more than 64 MiB',
    open: local('huge'),
    tool: 'look',
    error: ['ANSWER_TOO_LARGE', 1],
    says: /64 MiB/,
  },
  {
    name: 'floods us with requests instead of answering',
    open: local('floods', { timeout: 1500 }),
    tool: 'look',
    error: ['TIMEOUT', 7],
  },
  {
    name: 'asks over HTTP to wait at initialize (429, `Retry-After: 2`)',
    open: remote('http', httpPeer, 'wait-at-initialize'),
    tool: 'look',
    calls: 1,
  },
  {
    name: 'asks over HTTP to wait at the call',
    open: remote('http', httpPeer, 'wait-at-call'),
    tool: 'look',
    calls: 2,
  },
  {
    name: 'drops the HTTP socket once in a call',
    open: remote('http', httpPeer, 'drops-call'),
    tool: 'look',
    calls: 2,
  },
  {
    name: 'asks over SSE to wait at the call',
    open: remote('sse', ssePeer, 'wait-at-call'),
    tool: 'look',
    calls: 2,
  },
  {
    name: 'drops the SSE stream once in a call',
    open: remote('sse', ssePeer, 'drops-call'),
    tool: 'look',
    calls: 2,
  },
  {
    name: 'drops the WebSocket once in a call',
    open: remote('ws', wsPeer, 'drops-call'),
    tool: 'look',
    calls: 2,
  },
  {
    name: 'drops the WebSocket once in a writing call',
    open: remote('ws', wsPeer, 'drops-call'),
    tool: 'write',
    error: ['OUTCOME_UNKNOWN', 4],
    calls: 1,
  },
]

/** What must hold, as text. */
export function wanted({ error }: ProcessScene): string {
  return error ? `\`${error[0]}\`, exit ${error[1]}` : 'the answer, exit 0'
}

/** Runs a scene one way; returns what did not hold. */
export async function playScene(
  scene: ProcessScene,
  way: Way,
  options?: RunOptions,
): Promise<readonly string[]> {
  const home = makeHome()
  const { entry, peer } = await scene.open(home)
  try {
    home.servers({ s: entry })
    const ended = await WAYS[way](home, scene.tool, options)
    const problems = scene.error
      ? errorProblems(way, ended, ...scene.error)
      : answerProblems(way, ended, scene.tool)
    if (scene.says && !scene.says.test(ended.stdout + ended.stderr))
      problems.push(`it does not say ${scene.says}`)
    const calls = peer?.methods.filter((method) => method === 'tools/call').length
    if (scene.calls !== undefined && calls !== scene.calls) problems.push(`it was called ${calls} times`)
    if (problems.length > 0) problems.push(JSON.stringify(ended).slice(0, 2000))
    return problems
  } finally {
    await peer?.close()
    home.remove()
  }
}

function answerProblems(way: Way, { code, stdout }: Ended, tool: string): string[] {
  const text = way === 'the command with --json' ? parsed(stdout)?.content?.[0]?.text : stdout.trimEnd()
  return [
    ...(code === 0 ? [] : [`it ended with ${code}`]),
    ...(text === `the answer of ${tool}` ? [] : ['the answer was not printed']),
  ]
}

/** What the command says in words where its exit code stands for more than one outcome. */
const TOLD: Readonly<Record<string, RegExp>> = { OUTCOME_UNKNOWN: /OUTCOME_UNKNOWN/ }

/** The command has an exit code of its own for each kind of error; a script exits as it likes. */
function errorProblems(
  way: Way,
  { code, stdout, stderr }: Ended,
  wantedCode: string,
  exit: number,
): string[] {
  const isCommand = way.startsWith('the command')
  const isTold =
    way === 'the command with --json'
      ? parsed(stdout)?.error?.code === wantedCode
      : stdout === '' && (isCommand ? (TOLD[wantedCode] ?? /\S/) : new RegExp(`^${wantedCode} `)).test(stderr)
  return [
    ...(code === (isCommand ? exit : 1) ? [] : [`it ended with ${code}`]),
    ...(isTold ? [] : [`${wantedCode} was not told`]),
  ]
}

interface Printed {
  readonly content?: readonly { readonly text?: string }[]
  readonly error?: { readonly code?: string }
}

function parsed(text: string): Printed | undefined {
  try {
    return JSON.parse(text) as Printed
  } catch {
    // What is not JSON is not a result, and the caller says so.
    return undefined
  }
}

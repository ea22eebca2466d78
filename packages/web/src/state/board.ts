// board.ts: the board as the page knows it, kept true by the events of the resident process.
import { type LinkState, PageClient, type RequestOptions } from '../connection/page-client.ts'
import { failureOf } from '../connection/request-failed.ts'
import type { SignedIn } from '../connection/sign-in.ts'
import { createStore } from './store.ts'
import type {
  Fault,
  LogLine,
  Notice,
  PageInfo,
  Pending,
  Question,
  Server,
  ToolLine,
  TrafficEntry,
} from './types.ts'

interface BoardState {
  readonly link: LinkState
  readonly info: PageInfo | undefined
  /** Why the board could not be opened. */
  readonly problem: string | undefined
  readonly servers: readonly Server[]
  /** Undefined until they were listed. */
  readonly tools: readonly ToolLine[] | undefined
  readonly faults: readonly Fault[]
  readonly pending: readonly Pending[]
  readonly questions: readonly Question[]
  readonly traffic: readonly TrafficEntry[]
  readonly logs: ReadonlyMap<string, readonly LogLine[]>
  /** Grows when a subscribed resource changed, by server and address. */
  readonly updated: ReadonlyMap<string, number>
  readonly notices: readonly Notice[]
}

export const board = createStore<BoardState>({
  link: 'connecting',
  info: undefined,
  problem: undefined,
  servers: [],
  tools: undefined,
  faults: [],
  pending: [],
  questions: [],
  traffic: [],
  logs: new Map(),
  updated: new Map(),
  notices: [],
})

const TRAFFIC_KEPT = 10_000
const LOG_KEPT = 2000

let client: PageClient | undefined
let trafficLast = 0
let isReadingTraffic = false
let toolsTimer: ReturnType<typeof setTimeout> | undefined
let noticeId = 0

export function startBoard({ board: id, proof }: SignedIn): void {
  client = new PageClient(id, proof, {
    state: (link) => board.set({ link }),
    fresh: () => void open(),
    notification: (method, params) => notified(method, params),
  })
}

/** A request to the resident process. What comes back is what the method is documented to return. */
export async function request<T>(
  method: string,
  params: unknown = {},
  options: RequestOptions = {},
): Promise<T> {
  if (!client) throw new Error('The page is not connected.')
  return (await client.request(method, params, options)) as T
}

export function retryNow(): void {
  client?.retryNow()
}

export function notify(text: string, tone: Notice['tone'] = 'info'): void {
  const id = ++noticeId
  board.set({ notices: [...board.get().notices.slice(-3), { id, text, tone }] })
  setTimeout(() => dismiss(id), tone === 'bad' ? 12_000 : 5000)
}

export function dismiss(id: number): void {
  board.set({ notices: board.get().notices.filter((one) => one.id !== id) })
}

/** Runs what a button does; a failure becomes a notice. */
export async function attempt<T>(work: () => Promise<T>, done?: string): Promise<T | undefined> {
  try {
    const result = await work()
    if (done !== undefined) notify(done, 'good')
    return result
  } catch (error) {
    const { message, hint } = failureOf(error)
    notify(hint === undefined ? message : `${message} ${hint}`, 'bad')
    return undefined
  }
}

interface Opened extends PageInfo {
  readonly servers: readonly Server[]
  readonly faults: readonly Fault[]
  readonly questions: readonly Question[]
}

async function open(): Promise<void> {
  try {
    const { servers, faults, questions, ...info } = await request<Opened>('page/open')
    trafficLast = 0
    board.set({ info, servers, faults, questions, traffic: [], problem: undefined })
    await Promise.all([readTools(), readPending(), readTraffic()])
  } catch (error) {
    const { message, hint } = failureOf(error)
    board.set({ problem: hint === undefined ? message : `${message} ${hint}` })
  }
}

async function readTools(): Promise<void> {
  board.set({ tools: await request<readonly ToolLine[]>('page/tools') })
}

export async function readPending(): Promise<void> {
  const { entries } = await request<{ readonly entries: readonly Pending[] }>('config/pending')
  board.set({ pending: entries })
}

export async function stopServer(server: string): Promise<void> {
  board.set({ servers: await request<readonly Server[]>('page/stop', { server }) })
}

/** Servers come up one after the other: their tools are listed once for a few of them. */
function readToolsSoon(): void {
  clearTimeout(toolsTimer)
  toolsTimer = setTimeout(() => void readTools().catch(() => undefined), 250)
}

async function readTraffic(): Promise<void> {
  if (isReadingTraffic) return
  isReadingTraffic = true
  try {
    const got = await request<{ readonly last: number; readonly entries: readonly TrafficEntry[] }>(
      'traffic/entries',
      { after: trafficLast },
    )
    trafficLast = got.last
    if (got.entries.length > 0)
      board.set({ traffic: [...board.get().traffic, ...got.entries].slice(-TRAFFIC_KEPT) })
  } finally {
    isReadingTraffic = false
  }
}

interface Told {
  readonly event: { readonly type: string; readonly server?: string } & Readonly<Record<string, unknown>>
  readonly snapshot?: Server
  readonly servers?: readonly Server[]
}

function notified(method: string, params: Readonly<Record<string, unknown>>): void {
  if (method === 'board/event') happened(params as unknown as Told)
  else if (method === 'traffic/recorded') void readTraffic().catch(() => undefined)
  else if (method === 'questions/changed') questionChanged(params)
}

function happened({ event, snapshot, servers }: Told): void {
  const state = board.get()
  if (snapshot)
    board.set({ servers: state.servers.map((one) => (one.name === snapshot.name ? snapshot : one)) })
  if (servers) {
    board.set({ servers })
    void readPending().catch(() => undefined)
  }
  switch (event.type) {
    case 'state':
    case 'list-changed':
    case 'configuration-changed':
      readToolsSoon()
      break
    case 'configuration-fault':
      board.set({ faults: [...state.faults, event as unknown as Fault] })
      break
    case 'configuration-mended':
      board.set({ faults: state.faults.filter(({ file }) => file !== event['file']) })
      break
    case 'log':
      logged(event.server ?? '', event['line'] as LogLine)
      break
    case 'resource-updated': {
      const key = `${event.server} ${String(event['uri'])}`
      board.set({ updated: new Map(state.updated).set(key, (state.updated.get(key) ?? 0) + 1) })
      break
    }
    case 'warning':
      notify(String(event['text']))
  }
}

function logged(server: string, line: LogLine): void {
  const { logs } = board.get()
  // Only where the log was read: what came before is on disk.
  const known = logs.get(server)
  if (known) board.set({ logs: new Map(logs).set(server, [...known, line].slice(-LOG_KEPT)) })
}

export async function readLog(server: string): Promise<void> {
  const lines = await request<readonly LogLine[]>('logs/read', { server })
  board.set({ logs: new Map(board.get().logs).set(server, lines) })
}

function questionChanged(params: Readonly<Record<string, unknown>>): void {
  const { questions } = board.get()
  const opened = params['opened'] as Question | undefined
  const closed = params['closed'] as { readonly id: number; readonly by: string } | undefined
  if (opened) board.set({ questions: [...questions, opened] })
  if (!closed) return
  const gone = questions.find(({ id }) => id === closed.id)
  board.set({ questions: questions.filter(({ id }) => id !== closed.id) })
  if (gone && closed.by === 'terminal') notify(`The question of ${gone.server} was answered in the terminal.`)
  if (gone && closed.by === 'client')
    notify(`The question of ${gone.server} was answered in ${gone.who ?? 'the client'}.`)
  if (gone && closed.by === 'withdrawn') notify(`The question of ${gone.server} was withdrawn.`)
}

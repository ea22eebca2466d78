// page-host.ts: what a page gets from the resident process. Types only.
import type { BoardBehaviour, Host, LocalBoard, TrafficRecorder } from '@plugboard/core'
import type { Configuration } from '@plugboard/core/config'
import type { OpenParams, StatusResult } from '../protocol.ts'
import type { OpenQuestions } from '../questions.ts'
import type { AppSandbox } from './app-sandbox.ts'

/** Where a board is opened from: the folder and the environment of a terminal. */
export interface BoardPlace {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** The terminal's environment is not known any more: the process was started again. */
  readonly isRestored: boolean
}

export interface PageHost {
  readonly version: string
  readonly startedAt: number
  readonly traffic: TrafficRecorder
  readonly questions: OpenQuestions
  readonly apps: AppSandbox
  appOrigin(): string
  /** The last one when the id is not known. */
  place(board: string): BoardPlace | undefined
  open(params: OpenParams, behaviour: BoardBehaviour): Promise<LocalBoard | string>
  configuration(params: OpenParams): Promise<Configuration>
  hostOf(params: OpenParams): Host
  status(): StatusResult
  /** Stops the shared instances of a server; false when there is none. */
  stop(server: string): Promise<boolean>
}

/** What a method of the page works on. */
export interface PageContext {
  readonly host: PageHost
  readonly board: LocalBoard
  readonly params: OpenParams
  /** Read now: files change. */
  configuration(): Promise<Configuration>
}

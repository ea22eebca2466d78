// talk.ts: the conversation at a terminal.
import type { Desk, Model } from '@plugboard/agent'
import { InvalidInput } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import type { Plugged } from '../plug.ts'
import type { Session } from './session.ts'

export interface TalkOptions {
  readonly invocation: Invocation
  readonly model: Model
  session(plugged: Plugged, desk: Desk): Session
}

export async function talk(_options: TalkOptions): Promise<number> {
  throw new InvalidInput('The interactive chat is not in this version yet.', {
    hint: 'Ask one question with `plugboard chat -p "…"`.',
  })
}

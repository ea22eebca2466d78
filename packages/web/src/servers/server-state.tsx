// server-state.tsx: the state of a server as a word and a colour.
import { StateMark, type StateTone } from '../parts/basics.tsx'
import type { Server } from '../state/types.ts'

const TONES: Readonly<Record<Server['state'], StateTone>> = {
  connected: 'good',
  failed: 'bad',
  'needs-auth': 'warn',
  pending: 'wait',
  disabled: 'off',
}

export function ServerState({ server, waits }: { readonly server: Server; readonly waits: boolean }) {
  if (waits) return <StateMark tone="warn">waits for approval</StateMark>
  const { state, attempt = 0, of = 0 } = server
  const words: Readonly<Record<Server['state'], string>> = {
    connected: 'connected',
    failed: 'failed',
    'needs-auth': 'needs login',
    pending: attempt > 1 ? `connecting ${attempt}/${of}` : attempt === 0 ? 'not started' : 'connecting',
    disabled: 'disabled',
  }
  return (
    <StateMark tone={state === 'pending' && attempt === 0 ? 'off' : TONES[state]}>{words[state]}</StateMark>
  )
}

// notices.tsx: short sentences at the edge of the page about what just happened.
import { board, dismiss } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import { IconButton } from './basics.tsx'

export function Notices() {
  const notices = useStore(board, (state) => state.notices)
  return (
    <div className="notices" aria-live="polite">
      {notices.map(({ id, text, tone }) => (
        <div key={id} className={`notice notice-${tone}`}>
          <span>{text}</span>
          <IconButton icon="close" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  )
}

// palette.tsx: every view, server and tool by a few letters.
import { Combobox, ComboboxItem, ComboboxList, ComboboxProvider, Dialog } from '@ariakit/react'
import { startTransition, useDeferredValue, useMemo, useState } from 'react'
import { Icon, type IconName } from './parts/icon.tsx'
import { go, VIEWS } from './routes.ts'
import { attempt, board, request } from './state/board.ts'
import { useStore } from './state/store.ts'

interface Command {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly icon: IconName
  readonly run: () => void
}

const SHOWN = 40

export function CommandPalette({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) {
  const [query, setQuery] = useState('')
  const wanted = useDeferredValue(query.trim().toLowerCase())
  const commands = useCommands()
  const found = useMemo(() => matching(commands, wanted), [commands, wanted])
  return (
    <Dialog
      open={open}
      onClose={onClose}
      className="dialog palette"
      backdrop={<div className="backdrop" />}
      aria-label="Go to"
      unmountOnHide
    >
      <ComboboxProvider
        setValue={(value) => startTransition(() => setQuery(value))}
        includesBaseElement={false}
        open
      >
        <div className="palette-input">
          <Icon name="search" />
          <Combobox autoSelect="always" placeholder="Go to a view, a server, a tool…" aria-label="Go to" />
        </div>
        <ComboboxList className="palette-list" alwaysVisible>
          {found.map(({ id, title, detail, icon, run }) => (
            <ComboboxItem
              key={id}
              value={id}
              className="palette-item"
              setValueOnClick={false}
              onClick={() => {
                onClose()
                run()
              }}
            >
              <Icon name={icon} />
              <span className="palette-title">{title}</span>
              <span className="dim ellipsis">{detail}</span>
            </ComboboxItem>
          ))}
          {found.length === 0 && <div className="palette-none">Nothing matches.</div>}
        </ComboboxList>
      </ComboboxProvider>
    </Dialog>
  )
}

function useCommands(): readonly Command[] {
  const servers = useStore(board, (state) => state.servers)
  const tools = useStore(board, (state) => state.tools)
  return useMemo(
    () => [
      ...VIEWS.map((view) => ({
        id: `view ${view}`,
        title: view.charAt(0).toUpperCase() + view.slice(1),
        detail: 'view',
        icon: view,
        run: () => go(view),
      })),
      {
        id: 'add',
        title: 'Add a server',
        detail: 'action',
        icon: 'plus',
        run: () => go('servers', '', 'add'),
      } as const,
      ...servers.map(({ name, state }) => ({
        id: `server ${name}`,
        title: name,
        detail: `server, ${state}`,
        icon: 'servers' as const,
        run: () => go('servers', name),
      })),
      ...servers.map(({ name }) => ({
        id: `reconnect ${name}`,
        title: `Reconnect ${name}`,
        detail: 'action',
        icon: 'again' as const,
        run: () =>
          void attempt(() => request('board/reconnect', { server: name }), `${name} was reconnected.`),
      })),
      ...(tools ?? []).map(({ name, server, tool, title }) => ({
        id: `tool ${name}`,
        title: title ?? tool,
        detail: `${server}.${tool}`,
        icon: 'tools' as const,
        run: () => go('tools', name),
      })),
    ],
    [servers, tools],
  )
}

function matching(commands: readonly Command[], wanted: string): readonly Command[] {
  if (wanted === '') return commands.slice(0, SHOWN)
  const words = wanted.split(/\s+/)
  return commands
    .filter(({ title, detail }) => {
      const text = `${title} ${detail}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .slice(0, SHOWN)
}

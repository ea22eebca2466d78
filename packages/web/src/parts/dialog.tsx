// dialog.tsx: a window over the page; focus stays inside and returns afterwards.
import { DialogDismiss, DialogHeading, Dialog as Primitive } from '@ariakit/react'
import type { ReactNode } from 'react'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly open: boolean
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ReactNode
  readonly actions?: ReactNode
}

export function Dialog({ title, open, onClose, wide = false, children, actions }: DialogProps) {
  return (
    <Primitive
      open={open}
      onClose={onClose}
      backdrop={<div className="backdrop" />}
      className={`dialog ${wide ? 'dialog-wide' : ''}`}
      unmountOnHide
    >
      <header className="dialog-head">
        <DialogHeading className="dialog-title">{title}</DialogHeading>
        <DialogDismiss className="icon-button" aria-label="Close">
          <Icon name="close" />
        </DialogDismiss>
      </header>
      <div className="dialog-body">{children}</div>
      {actions !== undefined && <footer className="dialog-actions">{actions}</footer>}
    </Primitive>
  )
}

// login-dialog.tsx: the login to a remote server. The page opens the address only when the user clicks it, and shows it whole.
import { useEffect, useRef, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Loading, Problem } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { notify, request } from '../state/board.ts'

export function LoginDialog({ server, onClose }: { readonly server: string; readonly onClose: () => void }) {
  const [url, setUrl] = useState<string>()
  const [failure, setFailure] = useState<string>()
  // Another function with every drawing of the parent: the login must not start again for that.
  const close = useRef(onClose)
  close.current = onClose
  useEffect(() => {
    const controller = new AbortController()
    request(
      'login/start',
      { server },
      {
        signal: controller.signal,
        onProgress: (value) => setUrl((value as { readonly url: string }).url),
      },
    ).then(
      () => {
        notify(`You are logged in to ${server}.`, 'good')
        close.current()
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setFailure(failureOf(error).message)
      },
    )
    return () => controller.abort()
  }, [server])
  const host = url === undefined ? '' : new URL(url).host
  return (
    <Dialog title={`Log in to ${server}`} open onClose={onClose}>
      {failure !== undefined && <Problem title={failure} />}
      {failure === undefined && url === undefined && <Loading>Asking the server where to log in…</Loading>}
      {failure === undefined && url !== undefined && (
        <div className="stack">
          <p>
            The login happens at <strong>{host}</strong>, in a page of its own. This window closes when it is
            done.
          </p>
          {/^https?:/.test(url) && (
            <a className="button button-primary" href={url} target="_blank" rel="noreferrer noopener">
              Open {host}
            </a>
          )}
          <p className="dim break">{url}</p>
          <Loading>Waiting for the login…</Loading>
        </div>
      )}
    </Dialog>
  )
}

// capabilities.ts: which capabilities we advertise to a server: only those with a handler.

export interface Served {
  /** A user or a hook fills in forms. */
  readonly forms: boolean
  /** A user can be sent to a URL. */
  readonly urls: boolean
  readonly sampling: boolean
  readonly roots: boolean
}

export interface ClientCapabilities {
  readonly elicitation?: { readonly form?: object; readonly url?: object }
  readonly sampling?: object
  readonly roots?: { readonly listChanged: boolean }
}

export function clientCapabilities(served: Served): ClientCapabilities {
  return {
    ...((served.forms || served.urls) && {
      elicitation: { ...(served.forms && { form: {} }), ...(served.urls && { url: {} }) },
    }),
    ...(served.sampling && { sampling: {} }),
    ...(served.roots && { roots: { listChanged: false } }),
  }
}

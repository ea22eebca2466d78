// capabilities.ts: what we tell a server that it may ask of us: only what somebody here will answer.

export interface Served {
  /** Somebody (a person or a hook) answers forms. */
  readonly forms: boolean
  /** Somebody can be sent to a URL. */
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

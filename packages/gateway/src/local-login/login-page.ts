// login-page.ts: the page on which a user of the local login types the code. No script, nothing from elsewhere.

export interface LoginPage {
  /** As the client calls itself. */
  readonly client: string
  /** Where the user goes afterwards. */
  readonly goesTo: string
  readonly message?: string
}

export const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'same-origin',
} as const

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:30rem;margin:4rem auto;padding:0 1rem}input,button{font:inherit;padding:.5rem}input{letter-spacing:.15em;width:12rem}strong{overflow-wrap:anywhere}'

export function loginPage({ client, goesTo, message }: LoginPage): string {
  return page(`<h1>Log in to Plugboard</h1>
<p><strong>${escaped(client)}</strong> wants to use the tools of this gateway. Afterwards you go to <strong>${escaped(goesTo)}</strong>.</p>
<p>If you want that, type the code that <code>plugboard serve</code> shows in its terminal or log.</p>
${message === undefined ? '' : `<p role="alert">${escaped(message)}</p>`}
<form method="post"><label>Code <input name="code" autocomplete="one-time-code" autofocus required maxlength="20"></label> <button>Log in</button></form>`)
}

export function messagePage(text: string): string {
  return page(`<h1>Log in to Plugboard</h1><p role="alert">${escaped(text)}</p>`)
}

function page(body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Plugboard</title><style>${STYLE}</style><body>${body}</body></html>`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

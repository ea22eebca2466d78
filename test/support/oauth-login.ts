// oauth-login.ts: what an MCP client keeps while it logs in by OAuth, and a browser that follows redirects and fills in one form.
import type {
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthTokens,
} from '@modelcontextprotocol/client'

/** Keeps what a client keeps, and remembers where the user is sent. */
export class Login implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:9/callback'
  readonly clientMetadata = {
    client_name: 'test',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  address: URL | undefined
  #information: OAuthClientInformationMixed | undefined
  #tokens: OAuthTokens | undefined
  #verifier = ''

  clientInformation = () => this.#information
  saveClientInformation = (information: OAuthClientInformationMixed) => {
    this.#information = information
  }
  tokens = () => this.#tokens
  saveTokens = (tokens: OAuthTokens) => {
    this.#tokens = tokens
  }
  redirectToAuthorization = (address: URL) => {
    this.address = address
  }
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier
  }
  codeVerifier = () => this.#verifier
}

/** One browser: its cookies, and redirects on one origin. */
export class Browser {
  readonly #jar = new Map<string, string>()

  /** Where it ends: a page, or an address on another origin, which is not opened. */
  async open(start: string, init: RequestInit = {}): Promise<{ url: string; page?: Response }> {
    let url = start
    let next = init
    for (let hop = 0; hop < 20; hop++) {
      const page = await fetch(url, {
        ...next,
        redirect: 'manual',
        headers: { ...next.headers, cookie: [...this.#jar].map((pair) => pair.join('=')).join('; ') },
      })
      for (const cookie of page.headers.getSetCookie()) {
        const [pair = ''] = cookie.split(';')
        this.#jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
      }
      const location = page.headers.get('location')
      if (location === null) return { url, page }
      await page.body?.cancel()
      next = {}
      url = new URL(location, url).href
      if (new URL(url).origin !== new URL(start).origin) return { url }
    }
    throw new Error('the login page redirects in circles')
  }

  post(url: string, fields: Record<string, string>) {
    return this.open(url, {
      method: 'POST',
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  }
}

// browser.ts: a browser on loopback that keeps cookies by origin, follows redirects, and sends the one form of a page.

export interface BrowserPage {
  readonly url: string
  readonly status: number
  readonly text: string
}

export class Browser {
  /** Who logs in where the test authorization server asks. */
  readonly account: string
  readonly #jars = new Map<string, Map<string, string>>()

  constructor(account: string) {
    this.account = account
  }

  /** Where the redirects end. `until` stops before an address is opened. */
  async open(url: string, until?: (url: string) => boolean, init: RequestInit = {}): Promise<BrowserPage> {
    let at = url
    let request: RequestInit = init
    for (let hop = 0; hop < 30; hop++) {
      if (hop > 0 && until?.(at)) return { url: at, status: 0, text: '' }
      const { origin } = new URL(at)
      const jar = this.#jars.get(origin) ?? new Map<string, string>()
      this.#jars.set(origin, jar)
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
      const response = await fetch(at, {
        ...request,
        redirect: 'manual',
        headers: { ...request.headers, 'x-account': this.account, ...(cookie && { cookie }) },
      })
      for (const set of response.headers.getSetCookie()) {
        const [pair = ''] = set.split(';')
        jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
      }
      const location = response.headers.get('location')
      const text = await response.text()
      if (location === null) return { url: at, status: response.status, text }
      at = new URL(location, at).href
      request = {}
    }
    throw new Error('It redirects in circles.')
  }

  /** Presses the button of a page. */
  async submit(page: BrowserPage, until?: (url: string) => boolean): Promise<BrowserPage> {
    const fields = [...page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
    if (fields.length === 0) throw new Error(`There is no form: ${page.status} ${page.text}`)
    const { origin } = new URL(page.url)
    return await this.open(page.url, until, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin,
        'sec-fetch-site': 'same-origin',
      },
      body: new URLSearchParams(
        Object.fromEntries(fields.map(([, name, value]) => [name, value])),
      ).toString(),
    })
  }

  /** Opens a login link, presses the button, and logs in. */
  async logIn(url: string): Promise<BrowserPage> {
    return await this.submit(await this.open(url))
  }
}

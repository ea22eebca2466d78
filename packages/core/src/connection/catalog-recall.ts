// catalog-recall.ts: one server's part in the catalog of earlier processes: what it begins with, and what it leaves to the
// next. catalog-store.ts has the files.
import type { Catalog } from './catalog.ts'
import { SIDE_LISTS, sourceStamp } from './catalog-store.ts'
import type { ConnectionOptions } from './options.ts'
import type { ServerState } from './states.ts'

export class CatalogMemory {
  readonly #options: Pick<ConnectionOptions, 'server' | 'store'>
  readonly #catalog: Catalog
  /** Of the files that the running server was started from. */
  #stamp = ''

  constructor(options: Pick<ConnectionOptions, 'server' | 'store'>, catalog: Catalog) {
    this.#options = options
    this.#catalog = catalog
    const known = options.server.disabled ? undefined : options.store?.recall(options.server)
    if (known) catalog.seed(known)
  }

  /** The server is about to start: an edit from now on is not part of what it will list. */
  starting(): void {
    const { server, store } = this.#options
    if (store) this.#stamp = sourceStamp(server.entry)
  }

  keep(state: ServerState): void {
    const { server, store } = this.#options
    if (!store || state.kind !== 'connected') return
    const { capabilities, instructions, serverInfo } = state.session
    const { tools, resources, templates, prompts } = this.#catalog
    store.remember(server, this.#stamp, {
      capabilities,
      ...(instructions !== undefined && { instructions }),
      ...(serverInfo && { serverInfo }),
      tools: tools.items,
      resources: resources.items,
      prompts: prompts.items,
      templates: templates.items,
      whole: SIDE_LISTS.filter((kind) => this.#catalog.known(kind)),
    })
  }
}

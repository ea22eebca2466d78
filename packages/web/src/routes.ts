// routes.ts: which view the page shows, in the part of the address behind the #: a path of names, and what is selected.
import { useSyncExternalStore } from 'react'

export const VIEWS = [
  'servers',
  'tools',
  'resources',
  'prompts',
  'skills',
  'timeline',
  'decide',
  'health',
  'audit',
] as const
export type View = (typeof VIEWS)[number]

export interface Route {
  readonly view: View
  /** What is selected in the view: a server, a tool, a message. */
  readonly path: readonly string[]
}

function read(hash: string): Route {
  const [first = '', ...path] = hash.replace(/^#\/?/, '').split('/').map(decoded)
  const view = VIEWS.find((one) => one === first) ?? 'servers'
  return { view, path: path.filter((part) => part !== '') }
}

/** An address that somebody typed may be anything. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

let current = read(location.hash)
let lastHash = location.hash

function snapshot(): Route {
  if (location.hash !== lastHash) {
    lastHash = location.hash
    current = read(lastHash)
  }
  return current
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  return () => removeEventListener('hashchange', listener)
}

export function useRoute(): Route {
  return useSyncExternalStore(subscribe, snapshot)
}

export function addressOf(view: View, ...path: readonly string[]): string {
  return `#/${[view, ...path].map(encodeURIComponent).join('/')}`
}

export function go(view: View, ...path: readonly string[]): void {
  location.hash = addressOf(view, ...path)
}

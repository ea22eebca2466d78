// search-actions.ts: what a tool does to things, by the verb in its name, and what a query wants done: a question is rarely answered by
// a tool that deletes.

import { stem } from './search-stem.ts'
import { type QueryTerm, spaced } from './search-terms.ts'

export type Action = 'create' | 'read' | 'update' | 'delete'

const VERBS: Readonly<Record<Action, string>> = {
  create: 'create add insert post generate make register provision send upload write build book buy',
  read: 'get list read fetch find search show describe view retrieve check query count lookup inspect explain see look display compare tell calculate download',
  update:
    'update edit set change modify patch rename move mark assign turn enable disable toggle switch put adjust replace rotate',
  delete: 'delete remove drop clear destroy purge archive revoke uninstall wipe erase discard cancel',
}
const QUESTION = /^\W*(?:which|what|who|how|when|where|why|is|are|does|did|do|am|has|was|whether)\b/i

const ACTIONS: ReadonlyMap<string, Action> = new Map(
  (Object.keys(VERBS) as Action[]).flatMap((action) =>
    VERBS[action].split(' ').map((verb) => [stem(verb), action] as const),
  ),
)

/** By the first verb of its name. */
export function actionOfTool(name: string): Action | undefined {
  for (const word of spaced(name).split(' ')) {
    const action = ACTIONS.get(stem(word))
    if (action) return action
  }
  return undefined
}

/** A question wants to read; anything else wants what its first verb says. */
export function actionOfQuery(query: string, terms: readonly QueryTerm[]): Action | undefined {
  if (QUESTION.test(query)) return 'read'
  for (const term of terms)
    for (const word of term.keys()) {
      const action = ACTIONS.get(word)
      if (action) return action
    }
  return undefined
}

/** One of them only looks, or one of them deletes, and the other does not. */
export function areOpposed(a: Action, b: Action): boolean {
  return (a === 'read') !== (b === 'read') || (a === 'delete') !== (b === 'delete')
}

// help-topics.ts: what `plugboard help` explains besides verbs. The texts themselves are made in help.ts.

export const TOPICS = ['exit-codes'] as const
export type Topic = (typeof TOPICS)[number]

export function isTopic(word: unknown): word is Topic {
  return TOPICS.some((topic) => topic === word)
}

// retry-after.ts: how long a server tells us to wait.

interface Refusal {
  readonly status: number
  header(name: string): string | undefined
}

/** Milliseconds to wait when the server is busy (429, 503) and says for how long; otherwise undefined. */
export function retryAfterMs(answer: Refusal, now: number): number | undefined {
  if (answer.status !== 429 && answer.status !== 503) return undefined
  const value = answer.header('retry-after')?.trim()
  if (value === undefined || value === '') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

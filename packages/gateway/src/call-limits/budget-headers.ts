// budget-headers.ts: what is left of a user's limits, as the headers of draft-ietf-httpapi-ratelimit-headers say it. Every answer to a
// limited call has them, so they are written again only when they change. call-limits.ts knows what is left.

/** A larger number is rounded down to three digits: it changes less often, and no client plans with the rest. */
const EXACT_BELOW = 1000

/** One limit: its name, and the name with the quota and its window. */
export interface BudgetRule {
  readonly name: string
  readonly policy: string
}

/** Names and values of headers, one after the other. */
export type HeaderList = readonly string[]

/** `title`: `user-minute`, or with the pattern of the tools that it is for. */
export function budgetRule(title: string, quota: number, windowSeconds: number): BudgetRule {
  const name = JSON.stringify(title).replace(/[^ -~]/g, '?')
  return { name, policy: `${name};q=${quota};w=${windowSeconds}` }
}

/** The headers for some limits of one user. */
export class BudgetHeaders {
  readonly #rules: readonly BudgetRule[]
  readonly #policies: string
  readonly #left: number[]
  readonly #seconds: number[]
  #list: HeaderList | undefined

  constructor(rules: readonly BudgetRule[]) {
    this.#rules = rules
    this.#policies = rules.map(({ policy }) => policy).join(', ')
    this.#left = rules.map(() => 0)
    this.#seconds = rules.map(() => 0)
  }

  /** Those for more limits, with these first. */
  with(rules: readonly BudgetRule[]): BudgetHeaders {
    return new BudgetHeaders([...this.#rules, ...rules])
  }

  /** What is left of a rule, and in how many seconds all of it is there again. */
  say(rule: number, left: number, seconds: number): void {
    if (this.#left[rule] === left && this.#seconds[rule] === seconds) return
    this.#left[rule] = left
    this.#seconds[rule] = seconds
    this.#list = undefined
  }

  /** The same list as before when nothing else was said. */
  get list(): HeaderList {
    this.#list ??=
      this.#rules.length === 0 ? [] : ['RateLimit-Policy', this.#policies, 'RateLimit', this.#budgets()]
    return this.#list
  }

  #budgets(): string {
    return this.#rules.map(({ name }, at) => `${name};r=${this.#left[at]};t=${this.#seconds[at]}`).join(', ')
  }
}

/** As the headers have it. */
export function shownBudget(left: number): number {
  let unit = 1
  while (left >= unit * EXACT_BELOW) unit *= 10
  return left - (left % unit)
}

// roles.ts: from the groups of a user to what that user sees. The same roles give the same exposure object, so that views are
// shared between users and survive a reload that changes nothing.
import { EVERYTHING, type Exposure, narrowed, readExposure, united, without } from '../access/exposure.ts'
import type { RoleConfig } from '../config/schema.ts'

export class Roles {
  readonly #roles: Readonly<Record<string, RoleConfig>>
  readonly #outer: Exposure
  /** By the content of the roles. */
  readonly #exposures: Map<string, Exposure>

  /** `before` are the roles of the configuration until now. */
  constructor(roles: Readonly<Record<string, RoleConfig>>, outer: Exposure, before?: Roles) {
    this.#roles = roles
    this.#outer = outer
    this.#exposures = new Map(before && before.#outer === outer ? before.#exposures : [])
  }

  get isEmpty(): boolean {
    return Object.keys(this.#roles).length === 0
  }

  has(role: string): boolean {
    return Object.hasOwn(this.#roles, role)
  }

  /** The roles of a user in these groups, in the order of the file. */
  ofGroups(groups: readonly string[]): readonly string[] {
    return Object.entries(this.#roles)
      .filter(([, { groups: wanted = [] }]) => wanted.some((one) => one === '*' || groups.includes(one)))
      .map(([name]) => name)
  }

  /** What users with these roles see. Without roles they see what is served, as an object of their own: they are no operators. */
  exposure(names: readonly string[]): Exposure {
    const roles = names.map((name) => this.#roles[name] ?? {})
    const key = JSON.stringify(roles.map(({ expose = null, deny = [] }) => [expose, deny]))
    const known = this.#exposures.get(key)
    if (known) return known
    const open = united(
      roles.length === 0 ? [EVERYTHING] : roles.map(({ expose = [] }) => readExposure(expose)),
    )
    const made = {
      ...narrowed(
        this.#outer,
        without(
          open,
          roles.flatMap(({ deny = [] }) => deny),
        ),
      ),
    }
    this.#exposures.set(key, made)
    return made
  }
}

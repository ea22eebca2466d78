// sample.mjs: a seeded sample over several areas, in turns, so that a run that is stopped early has seen every area.

/** With fewer edits than this, one miss would be below a goal of 95 %. */
const WITH_GOAL = 20
const LEAST = 10

/**
 * An area with a goal of its own gets at least twenty of its mutants, another ten, and of the rest each its share of
 * `count`; the order mixes the areas. Another one of its area takes the place of one that is `refused`.
 */
export function sampleOf(mutants, areas, { seed, count, refused = new Set() }) {
  const next = randomOf(seed)
  const byArea = areas.map((area) =>
    shuffled(
      mutants.filter((mutant) => mutant.area === area),
      next,
    ),
  )
  const wanted = areas.map(({ goal }) => (goal === undefined ? LEAST : WITH_GOAL))
  const sum = wanted.reduce((total, number) => total + number, 0)
  const least = wanted.map((number) => Math.floor(number * Math.min(1, count / sum)))
  const rest = Math.max(0, count - sum)
  const chosen = byArea.map((list, at) =>
    list
      .filter((mutant) => !refused.has(mutant))
      .slice(0, least[at] + Math.round((rest * list.length) / mutants.length)),
  )
  const turns = Math.max(0, ...chosen.map(({ length }) => length))
  return Array.from({ length: turns }, (_, turn) =>
    chosen.flatMap((list) => list.slice(turn, turn + 1)),
  ).flat()
}

function shuffled(items, next) {
  const list = [...items]
  for (let at = list.length - 1; at > 0; at--) {
    const other = Math.floor(next() * (at + 1))
    ;[list[at], list[other]] = [list[other], list[at]]
  }
  return list
}

/** Mulberry32: small, and the same on every machine. */
function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

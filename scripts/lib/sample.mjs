// sample.mjs: a seeded sample over several areas, in turns, so that a run that is stopped early has seen every area.

/** Each area gets at least ten of its mutants, and of the rest its share of `count`; the order mixes the areas. */
export function sampleOf(mutants, areas, { seed, count }) {
  const next = randomOf(seed)
  const byArea = areas.map((area) =>
    shuffled(
      mutants.filter((mutant) => mutant.area === area),
      next,
    ),
  )
  const least = Math.min(10, Math.floor(count / areas.length))
  const rest = count - least * areas.length
  const chosen = byArea.map((list) =>
    list.slice(0, least + Math.round((rest * list.length) / mutants.length)),
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

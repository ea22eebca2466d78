// switches.mjs: all edits of a source file in one text, each behind a switch, so that one process can try many edits
// without loading the file again. The switches are `globalThis.__edits`, made by `makeSwitches`.

/**
 * The text with every mutant behind the switch of its `id`. Each form keeps the order and the number of evaluations of its
 * operands, so the text does the same as before while no switch is on.
 */
export function withSwitches(text, mutants) {
  const opens = new Map()
  const closes = new Map()
  const replaced = new Map()
  const put = (map, at, item) => map.set(at, [...(map.get(at) ?? []), item])
  const around = (mutant, before, after) => {
    // A condition is negated around what else is edited in it.
    const depth = mutant.form === 'negate' ? 0 : 1
    put(opens, mutant.node[0], { text: before, far: mutant.node[1], depth })
    put(closes, mutant.node[1], { text: after, far: mutant.node[0], depth })
  }
  for (const mutant of mutants) FORMS[mutant.form](mutant, { around, replaced, text })
  return assemble(text, { opens, closes, replaced })
}

const EDITS = 'globalThis.__edits'
const comparison = (name) => (mutant, context) => {
  context.around(mutant, `${EDITS}.${name}(${mutant.id},(`, '))')
  context.replaced.set(mutant.start, { to: mutant.end, text: '),(' })
}
const choice = (name) => (mutant, context) => {
  const at = mutant.operator ?? mutant.start
  context.around(mutant, `(${EDITS}.${name}(${mutant.id},(`, `):${EDITS}.left)`)
  context.replaced.set(at, { to: at + 2, text: '))?(' })
}
const isOn = (id) => `${EDITS}.on(${id})`

const FORMS = {
  negate: (mutant, { around }) => around(mutant, `(${isOn(mutant.id)}!==!!(`, '))'),
  '===': (mutant, { around }) => around(mutant, `(${isOn(mutant.id)}!==(`, '))'),
  '!==': (mutant, { around }) => around(mutant, `(${isOn(mutant.id)}!==(`, '))'),
  '<': comparison('less'),
  '<=': comparison('lessOrEqual'),
  '>': comparison('more'),
  '>=': comparison('moreOrEqual'),
  '&&': choice('and'),
  '||': choice('or'),
  '??': choice('missing'),
  statement: (mutant, { around }) => around(mutant, `{if(!${isOn(mutant.id)}){`, '}}'),
  value: (mutant, { replaced, text }) =>
    replaced.set(mutant.start, {
      to: mutant.end,
      text: `(${isOn(mutant.id)}?${mutant.replacement}:${text.slice(mutant.start, mutant.end)})`,
    }),
  method: (mutant, { replaced, text }) => {
    const optional = text.slice(mutant.start - 2, mutant.start) === '?.'
    replaced.set(optional ? mutant.start : mutant.start - 1, {
      to: mutant.end,
      text: `[${isOn(mutant.id)}?'${mutant.replacement}':'${mutant.before}']`,
    })
  },
}

/** At one place, what closes comes before what opens; an outer node opens first and closes last. */
function assemble(text, { opens, closes, replaced }) {
  const places = [...new Set([...opens.keys(), ...closes.keys(), ...replaced.keys()])].sort((a, b) => a - b)
  let out = ''
  let done = 0
  for (const at of places) {
    out += text.slice(done, at)
    done = at
    const ending = (closes.get(at) ?? []).toSorted((a, b) => b.far - a.far || b.depth - a.depth)
    const beginning = (opens.get(at) ?? []).toSorted((a, b) => b.far - a.far || a.depth - b.depth)
    out += [...ending, ...beginning].map((item) => item.text).join('')
    const instead = replaced.get(at)
    if (!instead) continue
    out += instead.text
    done = instead.to
  }
  return out + text.slice(done)
}

/** The switches of one process: `active` is the edit that is on, `reached` gets every edit whose place was run. */
export function makeSwitches() {
  const edits = {
    active: undefined,
    reached: new Set(),
    left: undefined,
    on(id) {
      edits.reached.add(id)
      return edits.active === id
    },
    and(id, left) {
      edits.left = left
      return edits.on(id) ? !left : left
    },
    or(id, left) {
      edits.left = left
      return edits.on(id) ? left : !left
    },
    missing(id, left) {
      edits.left = left
      return !edits.on(id) && (left === null || left === undefined)
    },
    less: (id, a, b) => (edits.on(id) ? a <= b : a < b),
    lessOrEqual: (id, a, b) => (edits.on(id) ? a < b : a <= b),
    more: (id, a, b) => (edits.on(id) ? a >= b : a > b),
    moreOrEqual: (id, a, b) => (edits.on(id) ? a > b : a >= b),
  }
  return edits
}

// mutants.mjs: finds the small edits that change what a source file does: conditions negated, guards and clean-ups dropped,
// boundaries moved, `some` and `every` swapped. Pure; running tests against an edit is scripts/mutation.mjs.
import { parse } from '@babel/parser'

/** A statement that only calls one of these is a clean-up; dropping it leaks or repeats something. */
const CLEAN_UP =
  /^(?:#?(?:clear|close|cancel|stop|delete|abort|end|remove|dispose|release|unsubscribe|off|destroy|kill|forget|drop|reset)[A-Z]?\w*)$/

const SWAPPED_OPERATOR = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
}
/** Options of Node's own functions whose other value changes nothing that a caller could see. */
const WITHOUT_EFFECT = new Set(['once', 'windowsHide', 'force'])
const SWAPPED_METHOD = { some: 'every', every: 'some', startsWith: 'endsWith', endsWith: 'startsWith' }

/**
 * Every edit of a TypeScript text: `{ kind, start, end, replacement, line, before }`. Types, imports and exports of names
 * are never touched.
 */
export function mutantsOf(text) {
  const program = parse(text, { sourceType: 'module', plugins: ['typescript'], errorRecovery: false }).program
  const found = []
  const add = (kind, node, replacement, { from = node.start, to = node.end, ...rest }) =>
    found.push({
      kind,
      ...rest,
      node: [node.start, node.end],
      start: from,
      end: to,
      replacement,
      line: node.loc.start.line,
      before: text.slice(from, to),
    })
  visit(program, (node, parent) => {
    const edit = EDITS[node.type]
    if (edit) edit(node, { add, text, parent })
  })
  return found.sort((a, b) => a.start - b.start || (a.kind < b.kind ? -1 : 1))
}

/** The text with one edit made. */
export function withMutant(text, { start, end, replacement }) {
  return text.slice(0, start) + replacement + text.slice(end)
}

const EDITS = {
  IfStatement(node, { add, text }) {
    add('negated condition', node.test, `!(${source(text, node.test)})`, { form: 'negate' })
    if (!node.alternate && leaves(node.consequent)) add('dropped guard', node, '{}', { form: 'statement' })
  },
  ConditionalExpression(node, { add, text }) {
    add('negated condition', node.test, `!(${source(text, node.test)})`, { form: 'negate' })
  },
  LogicalExpression(node, context) {
    if (node.operator === '??') dropDefault(node, context)
    else swapOperator('swapped && and ||', node, context)
  },
  BinaryExpression(node, context) {
    if (Object.hasOwn(SWAPPED_OPERATOR, node.operator))
      swapOperator(node.operator.includes('==') ? 'negated comparison' : 'moved boundary', node, context)
  },
  BooleanLiteral(node, { add, parent }) {
    const key = parent.type === 'ObjectProperty' ? parent.key.name : undefined
    if (parent.type !== 'TSLiteralType' && !WITHOUT_EFFECT.has(key))
      add('flipped boolean', node, String(!node.value), { form: 'value' })
  },
  CallExpression(node, { add }) {
    const name = node.callee.type === 'MemberExpression' && !node.callee.computed && node.callee.property
    if (name && Object.hasOwn(SWAPPED_METHOD, name.name))
      add('swapped method', name, SWAPPED_METHOD[name.name], { form: 'method' })
  },
  ExpressionStatement(node, { add }) {
    if (isCleanUp(node.expression)) add('dropped clean-up', node, ';', { form: 'statement' })
  },
}

function swapOperator(kind, node, { add, text }) {
  const from = operatorOf(node, text)
  const to = from + node.operator.length
  add(kind, node, SWAPPED_OPERATOR[node.operator], { from, to, form: node.operator })
}

function dropDefault(node, { add, text }) {
  const operator = operatorOf(node, text)
  add('dropped default', node, `(${source(text, node.left)})`, { form: '??', operator })
}

/** Where the operator is: its text may also be in a comment or an operand, never first between the two. */
function operatorOf(node, text) {
  return node.left.end + text.slice(node.left.end, node.right.start).indexOf(node.operator)
}

/** A guard's only job is to leave: it ends in return, throw, continue or break. */
function leaves(statement) {
  const last = statement.type === 'BlockStatement' ? statement.body.at(-1) : statement
  return /^(?:Return|Throw|Continue|Break)Statement$/.test(last?.type ?? '')
}

function isCleanUp(expression) {
  const call = expression.type === 'AwaitExpression' ? expression.argument : expression
  if (!/^(?:Optional)?CallExpression$/.test(call.type)) return false
  const { callee } = call
  const name = /MemberExpression$/.test(callee.type) ? callee.property : callee
  return CLEAN_UP.test(name.name ?? name.id?.name ?? '')
}

/** Parentheses around an expression are not part of its node. */
function source(text, node) {
  return text.slice(node.start, node.end)
}

function visit(node, look, parent = undefined) {
  if (!node || typeof node.type !== 'string') return
  if (/^TS(?!AsExpression|NonNullExpression|SatisfiesExpression|ParameterProperty)/.test(node.type)) return
  if (node.type === 'ImportDeclaration') return
  look(node, parent)
  for (const [key, value] of Object.entries(node)) {
    if (key === 'loc' || key === 'typeAnnotation' || key === 'typeParameters' || key === 'returnType')
      continue
    if (Array.isArray(value)) for (const item of value) visit(item, look, node)
    else if (value && typeof value === 'object') visit(value, look, node)
  }
}

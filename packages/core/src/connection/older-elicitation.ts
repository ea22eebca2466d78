// older-elicitation.ts: elicitation as servers sent it before `requestedSchema`: `buttons` and one `input`, a text or a select. It
// becomes a schema of today, so hooks, forms and clients see one kind. Pure.
import { isObject, own, put } from '../json.ts'
import { INTERACTION_LIMITS } from '../limits.ts'

type Json = Readonly<Record<string, unknown>>

/** The names under which the answer has the pressed button and what was put in. */
const BUTTON = 'button'
const INPUT = 'input'

/** The parameters of `elicitation/create` with a `requestedSchema`, where they are of the older shape; else as they are. */
export function withRequestedSchema(params: Json): Json {
  if (own(params, 'requestedSchema') !== undefined || own(params, 'mode') === 'url') return params
  const [input, buttons] = [own(params, 'input'), own(params, 'buttons')]
  if (input === undefined && buttons === undefined) return params
  const properties: Record<string, unknown> = {}
  const required: string[] = []
  // A part that is not understood is not left out: the form is declined, and the field is named.
  if (input !== undefined) {
    put(properties, nameOf(input), inputProperty(input) ?? null)
    if (!isObject(input) || input['required'] !== false) required.push(nameOf(input))
  }
  if (buttons !== undefined) {
    properties[BUTTON] = choiceOf(buttons) ?? null
    required.push(BUTTON)
  }
  const { input: _input, buttons: _buttons, ...rest } = params
  return { ...rest, requestedSchema: { type: 'object', properties, required } }
}

function nameOf(input: unknown): string {
  const name = isObject(input) ? own(input, 'name') : undefined
  return typeof name === 'string' && name !== '' && name !== BUTTON ? name : INPUT
}

function inputProperty(input: unknown): Json | undefined {
  if (!isObject(input)) return undefined
  const title = textAt(input, ['label', 'title', 'placeholder'])
  const preset = textAt(input, ['default', 'defaultValue', 'value'])
  const more = { ...(title !== undefined && { title }), ...(preset !== undefined && { default: preset }) }
  if (input['type'] === 'select') {
    const choice = choiceOf(own(input, 'options'))
    return choice && { ...choice, ...more }
  }
  return input['type'] === 'text' || input['type'] === undefined ? { type: 'string', ...more } : undefined
}

/** Texts, or objects with a value and a label. */
function choiceOf(options: unknown): Json | undefined {
  if (!Array.isArray(options) || options.length === 0 || options.length > INTERACTION_LIMITS.formOptions)
    return undefined
  const titled = options.map((option: unknown) => {
    if (typeof option === 'string') return { const: option, title: option }
    if (!isObject(option)) return { const: undefined, title: undefined }
    const label = textAt(option, ['label', 'title', 'text', 'name'])
    const value = textAt(option, ['value', 'id', 'action']) ?? label
    return { const: value, title: label ?? value }
  })
  return titled.every((one) => one.const !== undefined) ? { type: 'string', oneOf: titled } : undefined
}

function textAt(object: Json, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = own(object, name)
    if (typeof value === 'string' && value !== '') return value
  }
  return undefined
}

// args.ts: parses the command line into a verb and its options. A wrong word gets an error that says what to do.
import { parseArgs } from 'node:util'
import { InvalidInput } from '@plugboard/core/errors'
import { nearest } from '@plugboard/core/text/nearest'
import { GLOBAL_OPTIONS, isTopic, type OptionSpec, type Parsed, type VerbSpec } from './verb-spec.ts'
import { findVerb, SPELLINGS, VERBS } from './verb-table.ts'

export function parseCommandLine(argv: readonly string[]): Parsed {
  const at = verbIndex(argv)
  if (at === undefined) return parseWords(undefined, argv)
  const word = argv[at] ?? ''
  if (word === 'mcp') return parseCommandLine([...argv.slice(0, at), ...argv.slice(at + 1)])
  const spelling = Object.hasOwn(SPELLINGS, word) ? SPELLINGS[word] : undefined
  if (spelling) return parseCommandLine([...argv.slice(0, at), ...spelling, ...argv.slice(at + 1)])
  if (word === 'version') return parseCommandLine([...argv.slice(0, at), ...argv.slice(at + 1), '--version'])
  if (word === 'help' && isTopic(argv[at + 1]))
    return { verb: undefined, positionals: [], rest: [], values: { help: argv[at + 1] } }
  if (word === 'help') return parseCommandLine([...argv.slice(0, at), ...argv.slice(at + 1), '--help'])
  const verb = findVerb(word)
  if (!verb)
    throw new InvalidInput(`There is no verb "${word}".`, {
      hint: nearestVerb(word) ?? 'Run `plugboard --help` for the list.',
    })
  return parseWords(verb, [...argv.slice(0, at), ...argv.slice(at + 1)])
}

/** The first word that is neither a global option nor the value of one. */
function verbIndex(argv: readonly string[]): number | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? ''
    if (word === '--') return undefined
    if (!word.startsWith('-') || word === '-') return index
    const option = GLOBAL_OPTIONS[word.replace(/^--/, '')]
    if (word.startsWith('--') && option?.type === 'string') index++
  }
  return undefined
}

function parseWords(verb: VerbSpec | undefined, words: readonly string[]): Parsed {
  const options = { ...GLOBAL_OPTIONS, ...verb?.options }
  const split = words.indexOf('--')
  const before = split === -1 ? words : words.slice(0, split)
  const after = split === -1 ? [] : words.slice(split + 1)
  const own = verb?.takesArguments ? splitArguments(before, options) : { words: before, given: [] }
  const rest = [...own.given, ...after]
  try {
    const { values, positionals } = parseArgs({
      args: withOptionalValues(own.words, options),
      options: Object.fromEntries(Object.entries(options).map(([name, spec]) => [name, parserOption(spec)])),
      allowPositionals: true,
      strict: true,
    })
    checkChoices(values, options)
    return { verb, positionals, rest, values: values as Parsed['values'] }
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    throw explain(error as NodeJS.ErrnoException, verb, before)
  }
}

/** An option whose value may be left out is empty then. */
function withOptionalValues(
  words: readonly string[],
  options: Readonly<Record<string, OptionSpec>>,
): string[] {
  return words.map((word, at) => {
    const option = word.startsWith('--') ? options[word.slice(2)] : undefined
    const next = words[at + 1]
    return option?.optional && (next === undefined || next.startsWith('-')) ? `${word}=` : word
  })
}

/**
 * Takes out the long options that are not the command's own, each as one word: `--key=value`, or `--key` where no value
 * follows.
 */
function splitArguments(
  words: readonly string[],
  options: Readonly<Record<string, OptionSpec>>,
): { readonly words: readonly string[]; readonly given: readonly string[] } {
  const kept: string[] = []
  const given: string[] = []
  const shorts = new Map(Object.values(options).flatMap((spec) => (spec.short ? [[spec.short, spec]] : [])))
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    const next = words[at + 1]
    const [, name, attached] = /^--([^=]+)(=.*)?$/s.exec(word) ?? []
    if (name === undefined) {
      kept.push(word)
      const short = /^-\w$/.test(word) ? shorts.get(word.slice(1)) : undefined
      if (short?.type === 'string' && next !== undefined) kept.push(words[++at] ?? '')
    } else if (Object.hasOwn(options, name)) {
      kept.push(word)
      if (options[name]?.type === 'string' && attached === undefined && next !== undefined)
        kept.push(words[++at] ?? '')
    } else if (attached !== undefined || next === undefined || /^-(-|[a-z]$)/i.test(next)) given.push(word)
    else given.push(`${word}=${words[++at]}`)
  }
  return { words: kept, given }
}

function parserOption({ type, short, multiple }: OptionSpec) {
  return { type, ...(short && { short }), ...(multiple && { multiple }) }
}

function checkChoices(values: object, options: Readonly<Record<string, OptionSpec>>): void {
  for (const [name, value] of Object.entries(values)) {
    const choices = options[name]?.choices
    if (choices && typeof value === 'string' && !choices.includes(value))
      throw new InvalidInput(`--${name} cannot be "${value}".`, {
        hint: `Choose one of ${choices.join(', ')}.`,
      })
  }
}

function explain(
  error: NodeJS.ErrnoException,
  verb: VerbSpec | undefined,
  words: readonly string[],
): InvalidInput {
  const usage = verb ? `plugboard ${verb.name} ${verb.usage}`.trim() : 'plugboard VERB'
  if (error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    const option = /'(-[^']*)'/.exec(error.message)?.[1] ?? 'that option'
    if (verb?.name === 'add') {
      const [first = 'NAME', ...others] = words.filter((word) => !word.startsWith('-') || word === option)
      // Nothing but the option follows the name: then that word is the command, and the name was forgotten.
      const [name, command] = others[0] === option ? ['NAME', [first, ...others]] : [first, others]
      return new InvalidInput(`${option} is not an option of \`plugboard add\`.`, {
        hint: `If it belongs to the server, put -- before its command: plugboard add ${name} -- ${command.join(' ')}`.trim(),
      })
    }
    return new InvalidInput(`${option} is not an option here.`, {
      hint:
        nearestOption(option, verb) ??
        `Usage: ${usage}. See \`${['plugboard', verb?.name, '--help'].filter(Boolean).join(' ')}\`.`,
    })
  }
  const [, valueless] = /'(?:-\w, )?(--[\w-]+) <value>' argument missing/.exec(error.message) ?? []
  if (valueless) return new InvalidInput(`${valueless} needs a value.`, { hint: `Usage: ${usage}` })
  const message = error.message.split('\n')[0] ?? 'The command line is not valid.'
  return new InvalidInput(message.replace(/\.?$/, '.'), { hint: `Usage: ${usage}` })
}

/** A verb with one typo, or the one that begins so. */
function nearestVerb(word: string): string | undefined {
  const names = [...VERBS.map(({ name }) => name), ...VERBS.flatMap(({ aliases }) => aliases ?? [])]
  const close =
    nearest(word, names) ?? names.find((name) => word.length > 1 && name.startsWith(word.toLowerCase()))
  return close && `Did you mean \`plugboard ${close}\`?`
}

function nearestOption(option: string, verb: VerbSpec | undefined): string | undefined {
  const close = nearest(option.replace(/^-+/, ''), Object.keys({ ...GLOBAL_OPTIONS, ...verb?.options }))
  return option.length > 2 && close !== undefined ? `Did you mean --${close}?` : undefined
}

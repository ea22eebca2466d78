// completion: shell scripts made from the table of verbs. They ask `plugboard completion servers` for names.
import { loadConfiguration } from '@plugboard/core/config'
import { CLIENTS } from '@plugboard/core/config/import'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { GLOBAL_OPTIONS, type OptionSpec, type VerbSpec } from '../spec.ts'
import { write } from '../streams.ts'

type Verbs = readonly VerbSpec[]
const SHELLS: Readonly<Record<string, (verbs: Verbs) => string>> = { bash, zsh, fish }

export async function run(invocation: Invocation): Promise<number> {
  const [shell = ''] = words(invocation, ['SHELL'])
  if (shell === 'servers') {
    // Runs on every Tab: prints nothing about faults in files.
    const { servers } = await loadConfiguration({ host: invocation.host, cwd: invocation.cwd })
    write(1, servers.map(({ name }) => `${name}\n`).join(''))
    return EXIT.done
  }
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (!script)
    throw new InvalidInput(`There is no completion for "${shell}".`, { hint: 'Choose bash, zsh or fish.' })
  write(1, script(invocation.verbs))
  return EXIT.done
}

const verbNames = (verbs: Verbs) => verbs.flatMap((verb) => [verb.name, ...(verb.aliases ?? [])])

function optionWords(options: Readonly<Record<string, OptionSpec>> = {}): string {
  return Object.entries({ ...options, ...GLOBAL_OPTIONS })
    .flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])])
    .join(' ')
}

function positionalWords(verb: VerbSpec): string {
  switch (verb.completes) {
    case 'client':
      return CLIENTS.map(({ id }) => id).join(' ')
    case 'shell':
      return Object.keys(SHELLS).join(' ')
    case 'server':
    case 'project-server':
      return '$(plugboard completion servers 2>/dev/null)'
    default:
      return verb.name === 'config' ? 'schema' : ''
  }
}

function choiceCases(verbs: Verbs): string[] {
  const all = verbs.flatMap((verb) => Object.entries(verb.options ?? {})).filter(([, { choices }]) => choices)
  const unique = new Map(all)
  return [...unique].map(
    ([name, { short, choices = [] }]) =>
      `    ${short ? `-${short}|` : ''}--${name}) COMPREPLY=($(compgen -W "${choices.join(' ')}" -- "$cur")); return;;`,
  )
}

function bash(verbs: Verbs): string {
  const cases = verbs.map(
    (verb) =>
      `    ${[verb.name, ...(verb.aliases ?? [])].join('|')}) words="${positionalWords(verb)}"; options="${optionWords(verb.options)}";;`,
  )
  return `# bash completion for plugboard: source <(plugboard completion bash)
_plugboard() {
  local cur prev verb words options i
  cur="\${COMP_WORDS[COMP_CWORD]}"; prev="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  case "$prev" in
${choiceCases(verbs).join('\n')}
    --cwd) COMPREPLY=($(compgen -d -- "$cur")); return;;
    --mcp-config|--output|-o) COMPREPLY=($(compgen -f -- "$cur")); return;;
  esac
  for ((i=1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in -*|mcp) ;; *) verb="\${COMP_WORDS[i]}"; break;; esac
  done
  case "$verb" in
    "") words="${verbNames(verbs).join(' ')}"; options="${optionWords()}";;
${cases.join('\n')}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur"));;
    *) COMPREPLY=($(compgen -W "$words" -- "$cur"));;
  esac
}
complete -o default -F _plugboard plugboard
`
}

function zsh(verbs: Verbs): string {
  const described = verbs.map((verb) => `    '${verb.name}:${quote(verb.summary)}'`)
  const cases = verbs.map((verb) => {
    const options = Object.entries({ ...verb.options, ...GLOBAL_OPTIONS }).map(
      ([name, { help, choices, value }]) => {
        const argument = value
          ? `:${value.replace(/[^\w ]/g, ' ')}:${choices ? `(${choices.join(' ')})` : '_files'}`
          : ''
        return `'--${name}[${quote(help)}]${argument}'`
      },
    )
    const list = positionalWords(verb)
    const positional = list ? ` '*:word:(${list})'` : ''
    return `    ${[verb.name, ...(verb.aliases ?? [])].join('|')}) _arguments ${options.join(' ')}${positional.replace(/'\*:word:\(\$\((.*)\)\)'/, `"*:server:(\${(f)\\"$($1)\\"})"`)};;`
  })
  return `#compdef plugboard
# zsh completion for plugboard: source <(plugboard completion zsh)
_plugboard() {
  local -a verbs
  verbs=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then _describe 'verb' verbs; return; fi
  local verb=$words[2]
  shift words; (( CURRENT-- ))
  case $verb in
${cases.join('\n')}
  esac
}
compdef _plugboard plugboard
`
}

function fish(verbs: Verbs): string {
  const none = `not __fish_seen_subcommand_from ${verbNames(verbs).join(' ')}`
  const lines = verbs.flatMap((verb) => {
    const here = `__fish_seen_subcommand_from ${[verb.name, ...(verb.aliases ?? [])].join(' ')}`
    const list = positionalWords(verb).replace(/^\$\((.*)\)$/, '($1)')
    return [
      `complete -c plugboard -f -n '${none}' -a ${verb.name} -d '${quote(verb.summary)}'`,
      ...(list ? [`complete -c plugboard -f -n '${here}' -a '${list}'`] : []),
      ...Object.entries(verb.options ?? {}).map(([name, spec]) => fishOption(name, spec, here)),
    ]
  })
  const everywhere = Object.entries(GLOBAL_OPTIONS).map(([name, spec]) => fishOption(name, spec))
  return `# fish completion for plugboard: plugboard completion fish | source\n${[...lines, ...everywhere].join('\n')}\n`
}

function fishOption(name: string, { short, type, choices, help }: OptionSpec, condition?: string): string {
  const when = condition ? ` -n '${condition}'` : ''
  const values = choices ? ` -a '${choices.join(' ')}'` : ''
  return `complete -c plugboard${when} -l ${name}${short ? ` -s ${short}` : ''}${type === 'string' ? ' -r' : ''}${values} -d '${quote(help)}'`
}

function quote(text: string): string {
  return text.replace(/'/g, '’').replace(/[[\]:]/g, ' ')
}

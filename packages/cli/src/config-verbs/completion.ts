// completion: shell scripts made from the table of verbs. They ask `plugboard completion next -- WORDS…` what may follow;
// tools and their arguments are those that the last command saw.

import { loadConfiguration, stateFolder } from '@plugboard/core/config'
import { CLIENTS } from '@plugboard/core/config/import'
import { CatalogStore } from '@plugboard/core/connection/catalog-store'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { type CatalogTool, isPlain, type KnownNames, knownOf } from '../shared/tool-catalog.ts'
import { write } from '../streams.ts'
import { GLOBAL_OPTIONS, type OptionSpec, type VerbSpec } from '../verb-spec.ts'

type Verbs = readonly VerbSpec[]
const SHELLS: Readonly<Record<string, (verbs: Verbs) => string>> = { bash, zsh, fish, powershell }

export async function run(invocation: Invocation): Promise<number> {
  // Runs on every Tab: prints nothing about faults in files.
  if (invocation.positionals[0] === 'next') {
    write(1, (await nextWords(invocation)).map((word) => `${word}\n`).join(''))
    return EXIT.done
  }
  const [shell = ''] = words(invocation, ['SHELL'])
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined
  if (!script)
    throw new InvalidInput(`There is no completion for "${shell}".`, {
      hint: `Choose ${Object.keys(SHELLS).join(', ')}.`,
    })
  write(1, script(invocation.verbs))
  return EXIT.done
}

/** What may follow the words that a shell has so far, the verb first. */
async function nextWords({ rest, verbs, host, cwd }: Invocation): Promise<readonly string[]> {
  const [verbWord = '', ...given] = rest.filter((word) => word !== 'mcp')
  const verb = verbs.find(({ name, aliases }) => name === verbWord || aliases?.includes(verbWord))
  const before = given.filter((word) => !word.startsWith('-'))
  if (!verb) return []
  if (verb.completes === 'client') return before.length === 0 ? CLIENTS.map(({ id }) => id) : []
  if (verb.completes === 'shell') return before.length === 0 ? Object.keys(SHELLS) : []
  if (verb.name === 'config') return before.length === 0 ? ['schema'] : []
  const takesTool = verb.name === 'call' || verb.name === 'tools'
  const offers = OFFERED[verb.name]
  if (!verb.completes && !takesTool) return []
  if (verb.name === 'generate' && before.length === 0) return ['types']
  const { servers } = await loadConfiguration({ host, cwd })
  const names = servers.map(({ name }) => name)
  const many = /…/.test(verb.usage)
  if (!takesTool && !(offers && before.length > 0)) return before.length === 0 || many ? names : []
  const store = new CatalogStore(stateFolder(host), host)
  const known = (name: string) => {
    const server = servers.find((one) => one.name === name)
    return server ? knownOf(store, server) : { tools: [], prompts: [], resources: [] }
  }
  if (offers) return offeredWords(known(before[0] ?? ''), offers, before)
  const toolsOf = (name: string) => known(name).tools
  const [first = '', second] = before
  if (before.length === 0)
    return [...names, ...names.flatMap((name) => toolsOf(name).map((tool) => `${name}.${tool.name}`))]
  const isServer = names.includes(first)
  if (isServer && before.length === 1) return toolsOf(first).map(({ name }) => name)
  if (verb.name === 'tools') return []
  const [server, tool] = isServer ? [first, second] : splitName(first, names)
  const found = toolsOf(server ?? '').find(({ name }) => name === tool)
  return found ? argumentWords(found, before) : []
}

/** What the second word of a verb names. */
const OFFERED: Readonly<Record<string, 'resources' | 'prompts' | undefined>> = {
  read: 'resources',
  watch: 'resources',
  prompt: 'prompts',
}

function offeredWords(
  { prompts, resources }: KnownNames,
  offers: 'resources' | 'prompts',
  [, name, ...given]: readonly string[],
): readonly string[] {
  if (offers === 'resources') return name === undefined ? resources : []
  if (name === undefined) return prompts.map((prompt) => prompt.name)
  const found = prompts.find((prompt) => prompt.name === name)
  return found ? argumentWords(found, given) : []
}

/** `server.tool` or `mcp__server__tool`. */
function splitName(word: string, servers: readonly string[]): readonly [string?, string?] {
  const server = servers.find((name) => word.startsWith(`${name}.`) || word.startsWith(`mcp__${name}__`))
  if (server === undefined) return []
  return [server, word.slice(word.startsWith('mcp__') ? server.length + 7 : server.length + 1)]
}

/** `key=` for each argument that is not given yet, `key=value` where its values are listed. */
function argumentWords(tool: CatalogTool, given: readonly string[]): readonly string[] {
  return tool.arguments
    .filter(({ name }) => isPlain(name) && !given.some((word) => word.startsWith(`${name}=`)))
    .flatMap(({ name, values = [] }) => [
      `${name}=`,
      ...values.filter(isPlain).map((value) => `${name}=${value}`),
    ])
}

const verbNames = (verbs: Verbs) => verbs.flatMap((verb) => [verb.name, ...(verb.aliases ?? [])])

function optionWords(options: Readonly<Record<string, OptionSpec>> = {}): string {
  return Object.entries({ ...options, ...GLOBAL_OPTIONS })
    .flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])])
    .join(' ')
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
      `    ${[verb.name, ...(verb.aliases ?? [])].join('|')}) options="${optionWords(verb.options)}";;`,
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
  # bash splits words at = and : as well; what is completed is the whole word.
  local typed=() glue= word full lead
  for ((i=1; i <= COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      =|:|::|:=) if [ \${#typed[@]} -gt 0 ]; then typed[\${#typed[@]}-1]+="$word"; glue=1; else typed+=("$word"); fi;;
      '') typed+=('');;
      *) if [ -n "$glue" ]; then typed[\${#typed[@]}-1]+="$word"; else typed+=("$word"); fi; glue=;;
    esac
  done
  full="\${typed[\${#typed[@]}-1]}"
  unset "typed[\${#typed[@]}-1]"
  case "$cur" in =|:|::|:=) lead="$full";; *) lead="\${full%"$cur"}";; esac
  for ((i=1; i < COMP_CWORD; i++)); do
    case "\${COMP_WORDS[i]}" in -*|mcp) ;; *) verb="\${COMP_WORDS[i]}"; break;; esac
  done
  case "$verb" in
    "") words="${verbNames(verbs).join(' ')}"; options="${optionWords()}";;
${cases.join('\n')}
  esac
  case "$cur" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur"));;
    *)
      [ -n "$verb" ] && words="$(plugboard completion next -- "\${typed[@]}" 2>/dev/null)"
      COMPREPLY=($(compgen -W "$words" -- "$full"))
      case "\${COMPREPLY[0]}" in *=) compopt -o nospace;; esac
      # Of key=value or scheme:path only the last part is replaced.
      if [ -n "$lead" ]; then COMPREPLY=("\${COMPREPLY[@]#"$lead"}"); fi;;
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
    return `    ${[verb.name, ...(verb.aliases ?? [])].join('|')}) _arguments ${options.join(' ')} '*:word:_plugboard_next';;`
  })
  return `#compdef plugboard
# zsh completion for plugboard: source <(plugboard completion zsh)
_plugboard_next() {
  local -a found open whole
  found=("\${(@f)$(plugboard completion next -- "\${(@)words[1,CURRENT-1]}" 2>/dev/null)}")
  open=(\${(M)found:#*=})
  whole=(\${found:#*=})
  (( $#open )) && compadd -S '' -a open
  (( $#whole )) && compadd -a whole
}
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
    return [
      `complete -c plugboard -f -n '${none}' -a ${verb.name} -d '${quote(verb.summary)}'`,
      `complete -c plugboard -f -n '${here}' -a '(plugboard completion next -- (commandline -opc)[2..-1] 2>/dev/null)'`,
      ...Object.entries(verb.options ?? {}).map(([name, spec]) => fishOption(name, spec, here)),
    ]
  })
  const everywhere = Object.entries(GLOBAL_OPTIONS).map(([name, spec]) => fishOption(name, spec))
  return `# fish completion for plugboard: plugboard completion fish | source\n${[...lines, ...everywhere].join('\n')}\n`
}

function powershell(verbs: Verbs): string {
  const options = verbs.map((verb) => `    '${verb.name}' = '${optionWords(verb.options)}'`)
  return `# PowerShell completion for plugboard: plugboard completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName plugboard -ScriptBlock {
  param($word, $ast, $position)
  $options = @{
${options.join('\n')}
  }
  $typed = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -ne '' -and $typed.Count -gt 0) { $typed = @($typed | Select-Object -SkipLast 1) }
  $verb = $typed | Where-Object { $_ -notlike '-*' -and $_ -ne 'mcp' } | Select-Object -First 1
  if (-not $verb) { $found = '${verbNames(verbs).join(' ')}' -split ' ' }
  elseif ($word -like '-*') { $found = $options[$verb] -split ' ' }
  else { $found = @(plugboard completion next -- @typed 2>$null) }
  $found | Where-Object { $_ -like "$word*" } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`
}

function fishOption(name: string, { short, type, choices, help }: OptionSpec, condition?: string): string {
  const when = condition ? ` -n '${condition}'` : ''
  const values = choices ? ` -a '${choices.join(' ')}'` : ''
  return `complete -c plugboard${when} -l ${name}${short ? ` -s ${short}` : ''}${type === 'string' ? ' -r' : ''}${values} -d '${quote(help)}'`
}

function quote(text: string): string {
  return text.replace(/'/g, '’').replace(/[[\]:]/g, ' ')
}

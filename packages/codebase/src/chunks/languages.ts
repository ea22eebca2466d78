// chunks/languages.ts: which language a file is in, by its name, and which grammar reads it.

export interface Language {
  readonly name: string
  /** The grammar's file name without `tree-sitter-` and `.wasm`; absent for what is read line by line. */
  readonly grammar?: string
}

const GRAMMARS: Readonly<Record<string, readonly [name: string, grammar: string]>> = {
  bash: ['shell', 'bash'],
  sh: ['shell', 'bash'],
  zsh: ['shell', 'bash'],
  c: ['c', 'c'],
  h: ['c', 'c'],
  cc: ['cpp', 'cpp'],
  cpp: ['cpp', 'cpp'],
  cxx: ['cpp', 'cpp'],
  hh: ['cpp', 'cpp'],
  hpp: ['cpp', 'cpp'],
  hxx: ['cpp', 'cpp'],
  cs: ['csharp', 'c_sharp'],
  css: ['css', 'css'],
  scss: ['scss', 'scss'],
  dart: ['dart', 'dart'],
  ex: ['elixir', 'elixir'],
  exs: ['elixir', 'elixir'],
  elm: ['elm', 'elm'],
  gd: ['gdscript', 'gdscript'],
  gleam: ['gleam', 'gleam'],
  go: ['go', 'go'],
  hs: ['haskell', 'haskell'],
  hcl: ['hcl', 'hcl'],
  tf: ['hcl', 'hcl'],
  html: ['html', 'html'],
  htm: ['html', 'html'],
  java: ['java', 'java'],
  js: ['javascript', 'javascript'],
  cjs: ['javascript', 'javascript'],
  mjs: ['javascript', 'javascript'],
  jsx: ['javascript', 'javascript'],
  kt: ['kotlin', 'kotlin'],
  kts: ['kotlin', 'kotlin'],
  lua: ['lua', 'lua'],
  nix: ['nix', 'nix'],
  php: ['php', 'php'],
  pl: ['perl', 'perl'],
  pm: ['perl', 'perl'],
  py: ['python', 'python'],
  pyi: ['python', 'python'],
  r: ['r', 'r'],
  rb: ['ruby', 'ruby'],
  rs: ['rust', 'rust'],
  scala: ['scala', 'scala'],
  sc: ['scala', 'scala'],
  swift: ['swift', 'swift'],
  ts: ['typescript', 'typescript'],
  cts: ['typescript', 'typescript'],
  mts: ['typescript', 'typescript'],
  tsx: ['tsx', 'tsx'],
  zig: ['zig', 'zig'],
}

const PLAIN: Readonly<Record<string, string>> = {
  md: 'markdown',
  mdx: 'markdown',
  markdown: 'markdown',
  json: 'json',
  yaml: 'yaml',
  yml: 'yaml',
  toml: 'toml',
  xml: 'xml',
  sql: 'sql',
  rst: 'rst',
  txt: 'text',
}

const EXTENSIONS: ReadonlyMap<string, Language> = new Map([
  ...Object.entries(GRAMMARS).map(([ext, [name, grammar]]) => [ext, { name, grammar }] as const),
  ...Object.entries(PLAIN).map(([ext, name]) => [ext, { name }] as const),
])

export function languageOf(path: string): Language {
  const file = path.slice(path.lastIndexOf('/') + 1)
  const dot = file.lastIndexOf('.')
  return (dot > 0 ? EXTENSIONS.get(file.slice(dot + 1).toLowerCase()) : undefined) ?? { name: 'text' }
}

/** Every language that is read by a grammar. */
export const PARSED_LANGUAGES: readonly string[] = [
  ...new Set(Object.values(GRAMMARS).map(([name]) => name)),
].sort()

/** Every name a language goes by here. */
export function languageNames(): string[] {
  const names = [...Object.values(GRAMMARS).map(([name]) => name), ...Object.values(PLAIN), 'text']
  return [...new Set(names)].sort()
}

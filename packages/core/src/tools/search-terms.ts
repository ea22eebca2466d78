// search-terms.ts: texts and identifiers as search terms: split, lower-cased, stemmed lightly, with everyday synonyms
// for the words in tool names.

/** Stop words: they say nothing about which tool is meant. */
const EMPTY = new Set(
  'a about an and any anything are as at be been but by can could did do does doing done everything for from had has have here how i if in into is it its just let me my no not now of off on one only or our out please should so some something than that the their them then there these they this those to too up us was we were what when where which while whose why will with would you your'.split(
    ' ',
  ),
)
/** Verbs that fit most tools; they count, but little. */
const FAINT = new Set(
  [
    'get',
    'give',
    'show',
    'tell',
    'use',
    'want',
    'need',
    'let',
    'take',
    'put',
    'go',
    'new',
    'work',
    'thing',
    'tool',
    'api',
  ].map(stem),
)

/** Abbreviations, expanded before anything else. */
const SHORT: Readonly<Record<string, string>> = {
  auth: 'authentication login',
  ci: 'ci pipeline build',
  cmd: 'command',
  cfg: 'config',
  db: 'database',
  dir: 'directory',
  dirs: 'directories',
  dm: 'message user',
  docs: 'documents documentation',
  env: 'environment',
  img: 'image',
  js: 'javascript',
  ls: 'list directory',
  md: 'markdown',
  mkdir: 'create directory',
  mr: 'merge request',
  k8s: 'kubernetes',
  msg: 'message',
  mv: 'move file',
  org: 'organization',
  orgs: 'organizations',
  pic: 'picture',
  pr: 'pull request',
  prs: 'pull requests',
  pwd: 'working directory',
  repo: 'repository',
  repos: 'repositories',
  rm: 'delete file',
  url: 'url address',
  vars: 'variables',
  vm: 'virtual machine server',
}

/** Groups of synonyms for tool search. The first rows are verbs, the others nouns. */
const ALIKE = [
  'create make new add start set open insert register setup generate build',
  'delete remove drop erase destroy wipe discard forget clear rid trash purge',
  'update change edit modify alter rewrite replace patch set adjust fix',
  'list all every everybody everyone which available enumerate overview exist',
  'read view show display see look get retrieve open load print dump cat inspect content',
  'search find look query locate lookup grep filter where',
  'send post write publish say tell announce notify',
  'reply answer respond',
  'move rename relocate transfer put',
  'copy duplicate clone',
  'download fetch pull retrieve import',
  'upload push attach export',
  'run execute trigger start launch kick invoke',
  'rerun retry again repeat restart',
  'stop close end shut quit exit terminate',
  'undo revert reset rollback restore roll recover',
  'save store write persist record commit keep',
  'compare diff difference versus',
  'combine merge join integrate',
  'switch checkout change toggle',
  'press click tap hit push',
  'type enter input fill write',
  'choose select pick',
  'visit navigate goto browse go open',
  'hover mouse over',
  'wait until pause',
  'think reason thought reflect analyze',
  'compress zip gzip shrink',
  'check validate verify valid test lint',
  'approve accept review',
  'shelve stash aside temporarily',
  'echo repeat',
  'sum add plus total together',
  'folder directory dir path',
  'file document',
  'repo repository project codebase',
  'issue ticket bug task',
  'comment note remark reply',
  'message chat text dm',
  'channel room',
  'user person people member colleague coworker account who',
  'profile email phone detail',
  'reaction react emoji thumb',
  'picture image photo png jpg logo screenshot media',
  'screenshot capture snapshot',
  'audio sound music media',
  'website site page url web webpage',
  'browser chrome tab window',
  'js javascript script',
  'error failure fail failed failing exception red broken',
  'log message output trace',
  'build ci pipeline workflow job',
  'status state green pass result',
  'history log past recent lately',
  'author blame wrote who',
  'line row',
  'table database datasource',
  'column property field schema',
  'version release',
  'branch ref',
  'local working worktree',
  'env environment variable vars',
  'setting config configuration option preference',
  'memory knowledge graph entity remember recall know memorize',
  'entity person node thing object',
  'code function source snippet class',
  'fact observation',
  'connection link relation relationship',
  'size big large biggest bytes',
  'dropdown select option combobox menu',
  'dialog alert popup confirm prompt',
  'network request traffic http call',
  'key keyboard enter',
  'dark light theme scheme color media',
  'widths viewport resize size window width mobile',
  'permission allowed permitted access',
  'nested recursive tree subfolder hierarchy',
  'changelog release notes',
  'credits usage billing cost consume',
  'cpu ram resource memory',
  'flaky sometimes intermittent unstable',
  'artifact output produced',
  'metadata info detail information stat',
  'markdown md',
  'several multiple many bunch batch multi various',
  'progress long slow',
  'deploy ship release rollout production',
  'event meeting appointment calendar schedule',
  'mail email inbox letter',
  'container pod docker image',
  'sheet spreadsheet csv',
  'summary summarize digest',
  'place location map address',
  'price cost fee payment charge invoice',
  'video clip movie media',
  'team group organization workspace',
  'label tag category',
  'assign owner assignee responsible',
  'close resolve finish complete done',
  'popular star trending top',
  'unfinished wip draft uncommitted',
  'clean dirty untouched uncommitted status',
  'outdated stale behind latest sync base',
  'discussion thread conversation replies',
  'today recent latest newest history last',
  'element button link field box textbox',
  'disappear gone vanish hide spinner',
  'word text string phrase',
  'machine computer local disk',
  'origin remote upstream server',
  'commit revision change snapshot changeset',
  'patch diff change',
  'bot integration self token',
  'row record entry item query',
  'parent under below child',
  'doc document page',
  'fork copy own duplicate',
  'archive trash inactive hide',
  'unstage unstaged reset index staging stage',
  'schedule cron timer job',
  'secret credential password key token',
  'chart graph plot diagram',
  'install add package dependency',
  'monitor watch observe track',
  'draw paint sketch design',
] as const

const SYNONYMS: ReadonlyMap<string, readonly string[]> = (() => {
  const map = new Map<string, Set<string>>()
  for (const row of ALIKE) {
    const words = row.split(' ').map(stem)
    for (const word of words) {
      const alike = map.get(word) ?? new Set()
      for (const other of words) if (other !== word) alike.add(other)
      map.set(word, alike)
    }
  }
  return new Map([...map].map(([word, alike]) => [word, [...alike]]))
})()

export function synonymsOf(stemmed: string): readonly string[] {
  return SYNONYMS.get(stemmed) ?? []
}

export function isFaint(stemmed: string): boolean {
  return FAINT.has(stemmed)
}

/** Splits `createPullRequest`, `get_file-info` and `HTTPServer2` into words. */
function split(text: string): string[] {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** An identifier as words. */
export function spaced(identifier: string): string {
  return split(identifier).join(' ')
}

/** The terms of a text, without stop words, stemmed, in order. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const word of split(text)) if (!EMPTY.has(word)) words.push(stem(word))
  return words
}

/** The terms of a query: those of the text, with abbreviations expanded, each once. */
export function queryWords(text: string): string[] {
  const long = split(text).map((word) => (Object.hasOwn(SHORT, word) ? SHORT[word] : word))
  return [...new Set(wordsOf(long.join(' ')))]
}

/** Removes common endings, so that `merging`, `merged` and `merges` are one term. */
export function stem(word: string): string {
  if (word.length < 4) return word
  let end = word
  if (end.endsWith('ies') && end.length > 4) end = `${end.slice(0, -3)}y`
  else if (/(?:ss|x|ch|sh|z)es$/.test(end)) end = end.slice(0, -2)
  else if (end.endsWith('s') && !/(?:ss|us|sis|xis)$/.test(end)) end = end.slice(0, -1)
  for (const ending of ['ing', 'ed'])
    if (
      end.endsWith(ending) &&
      end.length - ending.length >= 3 &&
      /[aeiouy]/.test(end.slice(0, -ending.length))
    ) {
      end = end.slice(0, -ending.length)
      if (/([b-df-hj-km-np-rtv-z])\1$/.test(end)) end = end.slice(0, -1)
      break
    }
  // `transcription` and `transcript`, `approval` and `approve` are one term.
  if (/[a-z]{4}[st]ion$/.test(end)) end = end.slice(0, -3)
  else if (/[a-z]{4}[vnw]al$/.test(end)) end = end.slice(0, -2)
  return end.length > 3 && end.endsWith('e') ? end.slice(0, -1) : end
}

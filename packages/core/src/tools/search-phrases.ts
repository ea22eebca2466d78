// search-phrases.ts: abbreviations and phrases of queries, and the words that tools have for them. Single words and their synonyms are in
// search-synonyms.ts.
import { stem } from './search-stem.ts'

/** Abbreviations, expanded before anything else. */
export const SHORT: Readonly<Record<string, string>> = {
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

/** A phrase of several words, and the words that tools have for it. A particle may follow later: "turn the feature on". */
const PHRASES = `
access token: token credential
as the crow flies: distance
at once: multiple batch
at the moment: current active
back to: previous restore
break down: split
bring back: restore recover
by hand: manual
call off: cancel
carry out: run execute
check in: commit
check out: checkout
clean up: clean cleanup
come back: return restore
cut down: reduce
find out: get find
for good: permanently delete
get back: restore recover
get notified: notify watch subscribe
get rid of: delete remove
get to know: get
give back: return refund
give up: cancel
go back: back previous revert
go live: publish deploy
go over: review
go through: review list
hand in: submit
hand over: assign transfer
hang up: end terminate
how big: size
how fast: performance speed
how far: distance
how heavy: size weight
how high: height elevation
how large: size
how long: duration time
how many: count number
how much: amount total usage
how often: count frequency
how old: age date
in bulk: bulk batch multiple
in charge: owner assignee
in depth: detailed comprehensive
in detail: detail
in one go: multiple batch
in real time: live stream
keep an eye on: watch monitor
kick off: start trigger run
kick out: remove
leave out: exclude
let in: allow invite
let know: notify send
line up: order sort
list of: list
log in: login authenticate
log off: logout session
log out: logout session
logged in: login authenticated current user
look at: view get read
look for: search find
look into: inspect analyze get
look up: search find lookup
make sure: check verify
move on: next
no longer: remove inactive
not read: unread
of mine: my
on behalf of: impersonate
opt out: unsubscribe
pick up: take assign
place an order: create order
point out: comment
pull down: download
pull up: show get
put away: archive
put back: restore
put in: add insert
put off: postpone reschedule
put on: add attach
put up: post create publish
put together: create combine
put into: add move
right now: current active
roll back: rollback revert
roll out: deploy rollout release
run time: runtime duration
set up: create configure setup
shut down: stop shutdown delete
shut off: stop disable
sign in: login authentication
sign off: approve
sign out: logout session
sign up: register create user
sort out: fix resolve
speed up: performance optimize index
start over: restart reset
step by step: step trace
switch off: disable toggle
switch on: enable toggle
switched on: enabled active
switched off: disabled inactive
take apart: split parse
take away: remove revoke
take back: revert undo
take down: delete remove stop
take off: remove
take out: remove
take over: transfer assign
throw away: delete drop clear discard
throw out: delete remove
tick off: complete check update
time out: timeout
to do: todo task
to dos: todo task
track down: find search
try again: retry rerun
try out: test
turn down: decline reject
turn into: convert transform
turn off: disable toggle
turn on: enable toggle
wake up: start resume
web hook: webhook
what changed: diff changes history
what happened: history activity event log
what is in: read list content
who am i: current user viewer me whoami
who changed: history audit log blame
who did: audit log activity history
who is: user get
who may: permission access
wipe out: delete clear
work out: calculate compute
write down: create note save
zoom in: zoom
`

export interface Phrase {
  /** Stemmed, as all its terms are. */
  readonly words: readonly string[]
  readonly means: readonly string[]
}

let phrases: ReadonlyMap<string, readonly Phrase[]> | undefined

/** The phrases that begin with a stemmed word, the longest first. */
export function phrasesFrom(stemmed: string): readonly Phrase[] {
  phrases ??= readPhrases()
  return phrases.get(stemmed) ?? []
}

function readPhrases(): ReadonlyMap<string, readonly Phrase[]> {
  const map = new Map<string, Phrase[]>()
  for (const line of PHRASES.trim().split('\n')) {
    const [words = [], means = []] = line.split(': ').map((part) => part.split(' ').map(stem))
    const [first = ''] = words
    map.set(first, [...(map.get(first) ?? []), { words, means }])
  }
  for (const list of map.values()) list.sort((a, b) => b.words.length - a.words.length)
  return map
}

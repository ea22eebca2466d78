// search-synonyms.ts: groups of words that mean about the same where tools are described, in the domains that servers are written for.
// How much a synonym counts is decided by search-ranking.ts.
import { stem } from './search-stem.ts'

/** Groups of synonyms. The first rows are verbs, the others nouns; a word may be in several. */
const ALIKE = `
create make new add start set open insert register setup generate build
create provision initialize init
delete remove drop erase destroy wipe discard forget clear rid trash purge
remove unassign detach disconnect unlink kick expel revoke exclude
update change edit modify alter rewrite replace patch set adjust fix
update rename correct tweak
list all every everybody everyone which available enumerate overview exist
read view show display see look get retrieve open load print dump cat inspect content
get fetch retrieve
search find look query locate lookup grep filter where
send post write publish say tell announce notify
reply answer respond
move rename relocate transfer put
move drag shift reorder
copy duplicate clone replicate
download fetch pull retrieve import
upload push attach export
export save dump download
run execute trigger start launch kick invoke
rerun retry again repeat restart
stop close end shut quit exit terminate
stop cancel abort kill halt
cancel delete abort withdraw
pause suspend hold freeze mute
resume continue unpause
undo revert reset rollback restore roll recover
restore unarchive undelete recover back
rollback rollout previous
save store write persist record commit keep
compare diff difference versus
combine merge join integrate union unify
switch checkout change toggle
switch select context activate
press click tap hit push
type enter input fill write
choose select pick
visit navigate goto browse go open
hover mouse over
wait until pause
think reason thought reflect analyze
compress zip gzip shrink
check validate verify valid test lint
approve accept review
accept confirm agree
decline reject refuse deny
respond accept decline rsvp invitation
shelve stash aside temporarily
echo repeat
sum add plus total together
aggregate group sum average
calculate compute measure
count number many total quantity statistic stat
explain describe meaning mean why definition document
why analyze diagnose explain investigate cause reason debug
convert transform turn translate
turn toggle enable switch activate
enable activate
disable deactivate
simulate emulate pretend fake mock imitate
invite add join
join enter add
leave exit remove
assign owner assignee responsible delegate give hand
reassign transfer assign
mark set update flag
rotate renew regenerate refresh
renew extend
schedule plan book reserve arrange
postpone reschedule delay move update
reorder sort order position arrange rank
split divide break separate
grow scale resize expand increase instance replica
shrink reduce decrease
share grant permission access
lock protect freeze
hide conceal
buy purchase order acquire create
sell sale order
pay payment charge
film record video capture screencast
record capture
play stream
listen hear audio
warn alert notify trigger alarm
watch follow subscribe
unfollow unsubscribe unwatch
bookmark favorite star pin save
rate score rating review
vote upvote poll
folder directory dir path
file document
file attachment
attachment attach upload file hang
repo repository project codebase
issue ticket bug task
issue crash error problem incident defect
task todo ticket card item
subtask child sub step smaller
parent child subtask
sprint cycle iteration
milestone target goal deadline
deadline due date
epic initiative feature
backlog todo
priority urgent importance severity
stage state phase step status workflow
column list section field
column status stage
board kanban
dependency depend block blocker blocked relation relate before
finish complete done end
comment note remark reply
comment story feedback annotation
checklist todo item
label tag category
color colour label
worklog hour timesheet effort
message chat text dm
message sms text
channel room
mention ping
inbox mail unread
unread read seen looked
user person people member colleague coworker account who
user teammate employee staff somebody someone
member participant attendee guest
viewer me myself current whoami mine
profile email phone detail
team group organization workspace
team squad crew department
company customer organization account client business firm
customer client buyer consumer
contact person lead prospect
deal opportunity sale
association link relation connect
campaign newsletter marketing
reaction react emoji thumb
picture image photo png jpg logo screenshot media
icon image svg
screenshot capture snapshot
audio sound music media
voice audio call recording
transcript transcription caption subtitle written
phone call number mobile
call dial ring phone
conference meeting call
website site page url web webpage
website web internet online
browser chrome tab window
visitor user
link url
js javascript script
error failure fail failed failing exception red broken
crash error exception failure
log message output trace
build ci pipeline workflow job
status state green pass result
health healthy alive ping uptime
history log past recent lately
history activity audit event
history version revision older previous
audit compliance log activity
author blame wrote who
line row
table database datasource
table collection index
column property field schema
schema structure column field mapping
database db datastore postgres sql
sql query statement select
statement query transaction
row record document entry item
migration schema change
index speed optimize performance
slow performance speed latency fast
performance trace profile lighthouse
leak memory heap
connection string url connect
vector embedding semantic similar
similar related alike
version release
version revision
branch ref
branch copy fork
local working worktree
local localhost
env environment variable vars
environment staging production
setting config configuration option preference
flag feature toggle switch
variation variant experiment prompt
memory knowledge graph entity remember recall know memorize
entity person node thing object
code function source snippet class
source html code
fact observation
connection link relation relationship
size big large biggest bytes
size storage disk space
dropdown select option combobox menu
dialog alert popup confirm prompt
network request traffic http call
api endpoint request
throttle limit quota rate
limit quota threshold maximum
key keyboard enter
dark light theme scheme color media
bold format style font
widths viewport resize size window width mobile
device mobile phone iphone tablet viewport
permission allowed permitted access
role permission access
nested recursive tree subfolder hierarchy
changelog release notes
credits usage billing cost consume
balance credit money fund
spend cost usage expense
invoice bill billing receipt
refund reimburse
subscription plan recurring
coupon discount promo voucher
product item goods article catalog
order purchase
stock inventory
cpu ram resource memory
metric statistic stat measure usage
flaky sometimes intermittent unstable
artifact output produced
metadata info detail information stat
markdown md
several multiple many bunch batch multi various bulk
progress long slow
deploy ship release rollout production
deploy apply
deployment release
event meeting appointment calendar schedule
event booking reservation
free busy availability available
invitation invite event
reminder alert notification
today now current
day date
mail email inbox letter
container pod docker image
container shell exec
shell terminal command console bash
command shell exec run
cluster kubernetes node
server host machine instance vm droplet
machine node server
app application service
service deployment
maintenance drain cordon
forward tunnel proxy port
domain dns hostname
certificate ssl tls https cert
firewall security rule
volume disk storage drive
bucket blob object storage
backup snapshot copy
region zone datacenter
restart reboot
function serverless lambda
yaml manifest
sheet spreadsheet csv excel worksheet
cell range
worksheet sheet tab
number value figure
summary summarize digest
report summary status
place location map address
place poi business shop restaurant
map location geographic
route direction drive journey path trip
travel drive walk
distance far length
nearest closest near nearby
area zone region polygon
shape polygon geometry
coordinate latitude longitude geocode point
elevation altitude height
center centre centroid middle
border boundary edge
overlap intersection intersect
price cost fee payment charge invoice
video clip movie media
news headline article
paper article publication scientific research study
research investigate study
crawl scrape spider
scrape extract text
website domain site
monitor watch observe track
monitor alert
close resolve finish complete done
popular star trending top
unfinished wip draft uncommitted
clean dirty untouched uncommitted status
outdated stale behind latest sync base
stale unused old inactive
discussion thread conversation replies
today recent latest newest history last
latest newest current
recent last latest
element button link field box textbox
frame iframe embed
disappear gone vanish hide spinner
word text string phrase
machine computer local disk
origin remote upstream server
commit revision change snapshot changeset
patch diff change
bot integration self token
integration app plugin connector
webhook callback
row record entry item query
parent under below child
doc document page
documentation doc guide manual reference
fork copy own duplicate
archive trash inactive hide
unstage unstaged reset index staging stage
schedule cron timer job
secret credential password key token
login authentication auth oauth signin
session login
chart graph plot diagram
install add package dependency
draw paint sketch design
design layout mockup figma
draw render image
test spec case
question answer ask
condition criterion rule requirement
criterion acceptance accepted
template pattern boilerplate
`

let synonyms: ReadonlyMap<string, ReadonlySet<string>> | undefined
const NONE: ReadonlySet<string> = new Set()

export function synonymsOf(stemmed: string): ReadonlySet<string> {
  synonyms ??= readSynonyms()
  return synonyms.get(stemmed) ?? NONE
}

function readSynonyms(): ReadonlyMap<string, ReadonlySet<string>> {
  const map = new Map<string, Set<string>>()
  for (const line of ALIKE.trim().split('\n')) {
    const words = line.split(' ').map(stem)
    for (const word of words) {
      const alike = map.get(word) ?? new Set()
      for (const other of words) if (other !== word) alike.add(other)
      map.set(word, alike)
    }
  }
  return map
}

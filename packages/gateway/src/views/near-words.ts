// near-words.ts: written by `npm run near-words`, not by hand. Stemmed words that are near each other in meaning: each entry is a word
// and those near it. Search by words uses them beside core's synonyms.

const TABLE = `
abov higher under; absolut extraordinary magnitud; accept acknowledg enter incom open receiv reject will;
access accessibl authorizat; accessibility accessibl impair visibility; accessibl disabl invisibl visibility;
account acc reputat wallet; accurat accuracy realistic; action act behaviour event intent motion react; activ activity idl;
activity act action exercis hobby motion movement recreat recreation sport; actor actress cast celebrity oscar spokesman;
actual exact fak real; adapt adaptat adapter adaptor; add addit addition extra offer; addition asid extend further increas;
address contact; advanc intermediat modern sophisticat; after ahead later third;
age adolescent adult aged aging elderly fifteen old older teen teenag thirty twenty young younger; agent agency commissioner;
aid assistanc charity intervent rescu; alexandria athen egypt egyptian; align alignment; all much non;
allow abl acceptabl appropriat fin forbidden prohibit suitabl; alon isolat lon lonely solo; alpha beta;
analysis analytical evaluat measur research;
analyz analysis analytical assess evaluat examin inspect instrumentat prob studi study; answer hint solut;
appear appearanc invisibl seem show visibl; appli applicabl obtain recognis reject; applicat applicant program softwar;
apply admiss appli applicant qualifi qualificat; approv advisory authoriz proposal; area acr district floor nearby room;
argument argu debat; articl essay; asana ana; ask inquiry; assassin killer spy;
asset equity financial investment portfolio wealth; assignment allocat assign assigne homework;
assistant administrativ advisor employe executiv personnel secretary supervisor teacher; assumpt assum; attach mount screw;
attribut characteristic; audit auditor; authenticat authentic authoriz;
author artist biography book contributor creator founder literatur novel owner paperback poet publicat publish scientist writer written;
authoriz authorizat unauthoriz; auto automat automatic automobil automotiv manual;
availabl add allow incom offer onlin open pend ready sold trad unavailabl will; back away behind forward front rear;
backup restor; bad awful dangerous good horribl scary terribl wors worst; balanc equilibrium; banana fruit monkey; bar nak;
bash echo gnu unix; basic beginner introductory; behavior action behavioral behaviour psychology; belong possess;
best amaz better favorit favourit greatest worst; better wors; bidirection bid bidder; bill bank pay payment revenu subscript;
binary bin; block ban deny; board chess snowboard wood wooden;
body anatomy arm belly blood brain breast butt chest cloth fac fat flesh hair health heart leg liver muscl organ self shoulder skin soul stomach tissu;
both neither; branch legislativ; brand handmad logo manufacturer nik proprietary supplier trademark; brav courag;
break brak breakdown brok broken crack; browser brows netscap safari;
budget afford affordabl cheap cost expenditur expens expensiv fiscal inexpensiv money surplus;
build builder built compil compilat construct development;
business commerc corp corporat economic economy employment enterpris entrepreneur establishment industry logistic manufactur market marketplac warehous;
byt bandwidth binary encod; calculat calculator computat equat express formula math mathematical numeric numerical;
call caller telephon; caller dial telephon telephony; campaign ballot coalit elect political; cancel cancell cancellat terminat;
candidat applicant appoint ballot campaign clinton contest elect electoral endorsement governor nominat president presidential qualifi representativ;
cap capital; capability ability capabl privileg; captur clip; card deck gift postcard wallet;
cas circumstanc court judicial lawsuit litigat plaintiff; catalog catalogu inventory;
caution careful danger dangerous protectiv risk saf safety; center central; chang adjustment modificat unchang;
channel broadcast cabl communicat radio shannon stream televis; chart axis graphical; check checklist look verificat;
child adolescent baby boy childhood daughter father girl infant juvenil kid minor parental pediatric son teen toddler toy young;
circl arc circular oval radius spher triangl;
city amsterdam athen berlin capitol downtown europ jerusalem london manhattan metropolitan municipal municipality pari philadelphia portland shanghai tokyo town urban venic york;
clean cleaner clear delet fresh hygien laundry trash wash washer; cleanup clean cleaner maintenanc;
clear calm clarity cloudy smooth transparency transparent; click button; clon mirror replica; clos closer open;
cloud cloudy steam; cluster consortium; cod program script; coffe beverag caf cup mug tea; collect collectibl collector;
color black blu gray green grey orang pink purpl rainbow red whit yellow; column excel row; combin overall respectiv together;
combinat arrang arrangement choos chosen combin combo pair probability; command commander; comment respond;
common popular rar standard widespread;
company corp corporat employer employment headquarter inc industrial industry manufactur manufacturer organisat organization subsidiary supplier;
compar alik comparabl comparativ comparison differ different duplicat equal equivalent similar unlik; compatibility compatibl;
complet accomplish conclud full incomplet satisfi; complianc compliant comply enforcement regulat;
comprehensiv advanc extensiv thorough;
comput algorithm computat computation computer mathematic mathematical processor program programmer softwar technology;
concis broad clarity formal; conferenc arena attend tournament; configur configurat setup; confirm confirmat;
conflict battl controversy debat disput fight violenc war; connect connectivity connector join network tie tied;
consistency consistent reliabl; consol gui platform; constraint optimizat; contact invitat; contain enclos includ inclus;
container box dock lid; content text thing; context contextual scen;
contract agreement bargain contractor leas negotiat partnership; control controll controller;
conversat chat dialogu speak speech talk; convert convers converter transformat; coordinat geometry; copy copyright;
correct incorrect right wrong; cost affordabl cheap expensiv inexpensiv; count counter;
country abroad afghanistan africa albania america arabia argentina asia australia austria bangladesh belgium bolivia brazil britain british bulgaria cambodia cameroon canada china colombia continent county croatia cuba cyprus denmark deutschland ecuador egypt england europ european finland franc germany ghana greec haiti holland homeland hometown hungary iceland india indonesia internation iran iraq iraqi ireland israel italia italy jamaica japan jurisdict kazakhstan kentucky korea lebanon macedonia malaysia mexico mongolia morocco netherland nigeria norway oversea pakistan palestin panama paraguay philippin poland portugal provinc republic romania russia scotland senegal serbia singapor slovakia spain swaziland sweden switzerland syria taiwan territory texa thailand turkey ukrain uruguay usa uzbekistan venezuela vietnam wal world worldwid yemen yugoslavia zealand zimbabw;
coverag insuranc; crawl cav; creat creator develop establish exist existenc maker; current amp circuit electrical present;
custom customis customiz design personaliz; customer patient product purchas servic vendor; cycl bicycl bik;
daily day everyday monday today weekly; dat april birthday expir jun month year; data informat observat statistic;
databas data oracl; day everyday monday overnight payday saturday sunday thursday today tuesday week; declin decreas loss;
defin declar declarat definit; definit terminology; delet kill; deliver freight logistic ship;
delivery arriv birth deliver freight parcel postal ship shipment; demonstrat experiment indicat showcas studi;
dependent dependenc; depth deep extent; deriv gain; describ defin; descript describ;
design architectur architectural art artistic artwork construct creativity designer development technology them;
desir anticipat desirabl desperat prefer seek sought want;
destinat departur entry flight journey migrat mov rout shuttl target tourism tourist traffic transfer transit transport transportat traveler travell traveller trip;
detail complicat descript situat; detect detector identifi identify observ recognis recogniz;
determin calculat determinat distinguish; developer contractor designer development freelanc programmer studio;
devic electronic equipment hardwar ipod peripheral; dialog dial dialogu;
differenc comparabl comparativ comparison differ different equivalent; different differ divers similar; dimens dim dimension;
directory director subdirectory; discord chat disco messenger; discover discovery; discovery scienc scientific;
discuss argu consensus debat talk; display lcd screen; distanc distant inch kilometer mil mileag proximity radius rang reach;
distinguish distinct percept; doc doctor medical medicin physician; document hardcover paper proceed;
documentat document handbook specificat; domain registrar; down fell low lower under; download fre install; drop fall fallen fell;
duplicat clos identical; durat minut second; each all every multipl respectiv thre various;
earlier afternoon ago earliest early later overnight past today tomorrow tonight yesterday;
east eastern northeast northwest pacific south southeast west western; edit amend modifi; effect affect impact influenc;
efficient convenient effectiv efficiency productiv; element atom component compound material metal;
email outlook recipient sender; embed emb; empty blank zero; enabl capability capabl; end bye continu final; entir extensiv whol;
entity doctrin; entry admiss door enter entranc input inquiry insert interior;
environment aquatic earth ecological ecology environmental garden habitat natur ocean outdoor pollut sustainability sustainabl;
error bug invalid mistak unabl; establish declarat establishment initial introduc; estat asset ownership; event occas;
exampl instanc; except bug; exclud avoid contain eliminat exclus includ skip suppress; execut command exec; executabl exec execut;
exist ongo origin; expect anticipat; expensiv afford affordabl cheap inexpensiv money; experimentat experiment experimental;
explain answer complicat confus explanat simpl understand understood;
explor adventur explorat explorer navigat scenic travel visit; export import; expos enclos exposur vulnerabl;
express algebra bracket equal equality equat formula; extens expand expans extend extent; extern intern;
extra addit addition unnecessary; fact evidenc info truth; fail attempt reject succ success successful tri try unabl;
failur fault reliability reliabl succ success; fals incorrect lie logical proven truth;
family dad father genealogy hous household husband mom mother parent parental sister society uncl; favorit favourit;
featur functionality implement recognit; feedback criticism; few dozen enough fewer littl non numerous plenty;
fil download filenam folder; fill cement fluid pour; final conclud finish ultimat;
financ asset bank cash commerc currency debt economic economy equity financial fund invest investment investor lend lender loan market monetary mortgag spend stock wealth;
find determin discover discovery finder found seek solv; finish conclud continu exit proc terminat;
first begin initial start third; fix problem repair; fleet boat cargo harbor harbour maritim naval navy vessel yacht;
flow fluid hydraulic plumb valv; folder filenam; follow accompani after; forc mechanic newton physic; form submiss submit;
forum community; forward accompani ahead behind forth front revers; fre fee freewar paid; fresh dri; friendly friendship pleasant;
full all much whol; futur forecast upcom; gather encounter meet; general grand particular; generat generator;
geographic continent geographical geography geological landscap latitud region spatial territory;
geometry angl mathematic spatial triangl; get com giv put tak winner; git commit; given giv obtain taken; goal gam victory;
googl library yahoo;
government administrat agency authority bush communist congress congression constitut constitution corrupt country democracy democratic elect federal govern governanc governmental governor jurisdict law legislat legislativ legislatur military municipal parliament parliamentary polic policy politic political president regim republic society;
grant fund; graph axis curv graphical vertex;
great amaz awesom brilliant cool excellent fantastic fin good incredibl nic okay perfect sweet tremendous very wonderful;
ground bottom concret dirt earth grass lawn soil; group collectiv organis organiz; guid handbook;
guidanc advic advisory guid instruction supervis; handl grip; head brain ear fac hair hat headset helmet neck;
health diet diseas happiness healthcar illness medical medicin smok wellness; helm head helmet horn; help assistanc handy helpful;
helpful advic assistanc beneficial handy;
higher exc greater height high increas less low lower lowest max peak rais top upper vertical; historical ancient historic vintag;
history biography genealogy historic historical timelin; hit attack beat punch shot strik struck;
hold grab grip hand held possess; host invit; hour day hourly overnight tim;
http apach bandwidth broadband browser internet protocol web; human animal body creatur mal peopl somebody someon woman;
identifi identificat identifier identity recognis recogniz; identifier designat identificat;
identify identifi identificat identifier identity recognit recogniz; ignor absent exclud;
imag art artwork camera figur gallery graphic graphical illustrat object photograph photographer photographic photography pic pixel recognit textur thumbnail video vision wallpaper;
immediat instant interim rapid timely; implement compliant declar develop functionality implementat;
important crucial essential importanc significant;
improv adaptiv advancement effectiveness enhanc enhancement improvement strengthen; index indic;
individual adult amateur human mal participant peopl somebody someon; inferenc hypothesis logic observat; info stuff;
informat content fact inform information informativ knowledg; initial begin debut introduc starter; input output;
insid door enclos entranc exterior indoor inner interior intern outer outsid room surround; insight intelligenc;
inspect audit examin examinat inspector investigat investigator; installat install; instruct instruction manual tutorial;
integrat integral; interact interactiv interfac; interactiv animat functionality prompt; invalidat invalid;
inventory catalogu collector item logistic quantity supplier supply; issu broken disput fix troubl;
item cloth collect collectibl equipment gear memorabilia merchandis object supply thing;
job boss career employ employer employment hir occupat offic worker workplac; judg assess judgment; keep kept preserv stay;
key knif; keyboard laptop piano; kilometer meter mil mileag unit; know known tell;
knowledg discovery educat education expert expertis intelligenc learn skill technological understand wisdom; known awar unknown;
lab laboratory machin scientist; landmark facility memorial venu;
languag accent cultur cultural english french german grammar japanes portugues spanish speak speech translat translator verbal vocabulary;
larg bigger considerabl diameter enormous giant hug larger major massiv medium small smaller substantial tall tiny vast wid;
last after best end final next; lat latitud longitud; latest upcom; latitud arctic earth geographical geography glob;
launch startup; learn educat education instruction lesson practic train; least lesser minimal;
length diameter dimens durat height inch larg long mil minut short tall width; level higher peak tier;
library bibliography bookstor librarian; limit limitat restrict; list checklist collect item playlist; liv aliv die lif stay;
llm mem; load reload; local nativ neighborhood;
locat area asia avenu beach britain california canada china city country destinat europ facility gps headquarter hometown local london mainland minnesota near nearby nowher placement posit postal region road russia somewher stat station street town urban usa washington york;
long big hug longer short; longer bigger durat extend larger length short; longitud geographic geography gps;
mad built develop handmad maker; main major primary secondary starter;
mak built compos craft handmad mad maker manufactur produc producer recip synthesis;
manag control controll leadership manager supervis;
management administrat administrativ career executiv leadership manag manager organisat organization supervis supervisor workplac;
mandatory mandat necessary necessity obligat; many every few lot mor most non numerous plenty; map correspondenc;
match correspond correspondenc pair; matrix mat; max exc extrem maximiz maximum min ultra;
maximum exc greater higher maximiz minimum unlimit; may april july jun march might month;
mean dictionary interpretat term terminology; measur measurement; member club membership; merg merger; messag messenger reply;
meter measurement unit; method approach methodology techniqu; metric measurement; migrat immigrat relocat transfer travel;
mil distant mileag; minut hour min quarter second tim; miss absent gon incomplet lack unavailabl; mix divers;
mobil blackberry cellular telecom telephony; model modell; modifi amend decid given modificat obtain origin;
modify adjustment amend customis customiz improvement modifi modificat overrid remov renam substitut unchang;
monitor display lcd screen;
month april august december feb february january july jun march november october season september week year yearly;
monthly annual january month weekly yearly; mor another better enough fewer further less most much; most all every few majority;
mov movement stay; multipl combinat fiv four thre two; museum exhibit heritag memorabilia organizer;
nam nicknam renam surnam titl who; narrow broad stretch thick tight wid width; natural convention; navigat navigator;
near closer nowher somewher under;
nearby beach brighton downtown facility local london metropolitan minneapoli mumbai neighborhood outdoor outsid proximity surround;
need request requir urgent want;
neighborhood apartment avenu city district downtown hometown metropolitan neighbor residenc residential suburban town urban villag yard;
network broadband channel cisco communicat connectivity ethernet gateway internet net packet router tcp telecom wifi wir wireless;
new exist newbi previous; next after ahead; nod graph tre; normal typical unusual usual;
north canada central coast east hampshir mainland northeast northern northwest south southeast southern southwest west;
notificat notify; notion concept conceptual; null blank empty;
number digit eight eleven integer math nin numeric seven six ten thousand twelv; object class creatur mesh toy vehicl;
observat observ; obtain acquir deriv gain sought; offset adjustment posit; open blank ready;
operat comput computat operation operator; opt optimum; optimiz minimiz optimal optimum;
optimizat algorithm maximiz minimiz optimal optimiz optimum; option absent mandatory necessary necessity unnecessary;
order arrangement shipment; ordinary convention exception extraordinary regular unusual;
organizat administrat administrativ agency associat collectiv consortium corp corporat governmental institution leadership manag management organis organisat organiz organization organizer orgy staff workplac;
origin genuin mad; other addition alternat alternativ another asid extra further; otherwis regardless thus;
outgo communicat incom tcp; output convers convert echo print; outsid exterior indoor outdoor patio snow street; overlap inclus;
overview comprehensiv descript handbook introduct introductory; own acquir ownership;
owner attorney behalf buyer creator dealer founder husband manufacturer own ownership possess seller;
packag apt box pack ship shipment supply; pag homepag layout paginat; pair coupl duo respectiv together;
paper doc journ newspaper proceed; parameter argument para variabl; pars par; part involv piec portion sid whol;
participant audienc opponent participat patient performer; pass through; passag proceed; patch cur; path highway trail;
pattern occurrenc; payment bank cash debt lend lender loan monetary mortgag paid payabl;
peopl crowd personnel polic somebody someon; percentag half percent proport; perfect amaz beautiful brilliant excellent;
perform achiev compet performer; performanc benchmark efficiency efficient evaluat improv improvement; period cycl era periodic;
permiss authorizat privileg unauthoriz; phon blackberry caller car computer galaxy ipod messenger telephon telephony;
photo art artwork camera footag gallery graphic illustrat photograph photographer photographic photography pic thumbnail;
pipelin pip plumb; plac beach city nowher somewher; plain bar pur; playwright actor shakespear theater theatr writer;
poll choos favourit opinion quiz survey; polygon mesh triangl; port harbour socket tcp;
posit center movement placement spot vertical; post submiss submit thread upload; prefer better preferenc; prepar prep preparat;
press button; preview viewer; previous next past preced subsequent; pric amount discount dollar expensiv market sal;
priority considerat; problem difficulty failur fault solut solv struggl troubl; process assembly procedur;
product advertiser bottl factory merchandis purchas toy; progress achiev advancement; project homework idea task;
proper acceptabl adequat appropriat; property attribut; provider broadband carrier telecom;
proximity adjacent closer distant surround; public privacy privat; pull grab lift push slip twist; put giv keep;
quality excellenc genuin reliability reliabl; query claus; quest doubt inquiry; quick easy fast instant rapid; rang reach;
rank competitiv reputat; rat percent percentag; react chemical chemistry; read reader writ written;
real fak genuin legitimat realistic reality realty serious; reason explanat purpos; receiv get recipient send;
recent ago previous yesterday; recipient delivery envelop exchang mail postal sender;
record camcorder camera footag mic microphon recorder tap; recur frequent monthly occasion repeat; reduc declin fewer less reduct;
ref foul; referenc quot refer relevant; reflect light mirror; refund rebat; regardless overall;
region asia border continent geographical mainland territory; registrat register registrar; registry register registrar registrat;
reject approv; relat involv; relevanc significanc; relevant applicabl appropriat important suitabl; remain full gon left;
remov eliminat gon removabl unnecessary; render display; replac replacement substitut; reply respondent;
repository apt archiv rep; represent indicat representat representativ;
request attempt availabl desir offer pend requir sent sought want; requir complet necessary sufficient suitabl;
requirement mandatory prerequisit qualificat specificat; research experimental investigator researcher scienc studi technology;
reset refresh reload; resiz adjustabl enlarg enlargement stretch; resolv res resolut; resourc content link;
respons feedback respond respondent; rest tir;
restaurant caf cater chef cuisin din dinner dish establishment food grocery hotel kitchen meal; restor recovery restorat;
restrict avoid ban deny limitat prevent; result outcom research successful;
retail apparel boutiqu commerc merchandis retailer sal shopper; retent retain; retriev grab recover; retry reload; return refund;
reus recycl; revers alternat flip rev; review criticism feedback reviewer; revok cancel undo; ring jewelry;
road avenu boulevard car driv driven drov highway lan path rout street taxi traffic trail transportat truck vehicl;
rotat orientat rotary spin turn; rout flight gateway highway navigat reach router traffic; run runner; sandbox sand sandy toolbox;
sav kept salvat saver; schedul deadlin tuesday weekly; schema databas; scor goal par; scrap scratch; script bash;
search finder googl seek; second delay instant timely timer; secret confidential hidden mysterious mystery reveal twist;
section outlin subsect; see know tell; select chosen; send email mail messag outgo recipient sender sent; sequenc sery;
server apach client socket; servic provider; setup configurat install installat; several few most numerous plenty;
shap bent fat hollow mesh oval round; shar collaborat collaborativ; shard hash; sheet paper;
shop amazon bookstor boutiqu catalogu mall marketplac mart retail retailer shopper warehous; short brief quick small smaller tall;
show demonstrat proof prov visibl watch; sign signatur; similar comparabl comparison duplicat equivalent identical unlik;
simpl basic complicat difficult easy; simulat computation virtual; singl lon lonely marri; sip beverag cocktail drink;
sit forum onlin www yahoo; siz bigger diameter enormous fit height hug inch larger length medium small smaller tiny wid;
skip avoid; snapshot snap; solv algebra equat puzzl solut; sort arrangement; sourc referenc;
south america australia bolivia charleston florida korea louisiana midwest northeast northern southeast southern southwest west;
spe engin gear mechanic motion mph physic rapid velocity; specifi configur desir given requir specify;
specific certain particular specifi specify vari; specifier classificat;
spend afford budget cash consumpt currency debt economic economy expenditur financial fiscal fund investment monetary money revenu spent surplus wallet wealth;
squar quad round; stag concert theater theatr; standard convention normal regular; start begin initial starter startup;
stat alabama alaska america arizona arkansa california capitol carolina colorado country county delawar florida government hampshir hawaii idaho illinoi indiana interstat iowa jurisdict kansa kentucky legislatur louisiana maryland massachusett michigan minnesota mississippi missouri montana nevada nsw ohio oklahoma oregon pennsylvania queensland springfield statewid tennesse texa usa utah virginia washington wisconsin wyom york;
statement claus proposit; statistic math quantitativ statistical;
status activ announcement operation pend progress remain unavailabl; step walk; stop continu keep;
stor amazon bookstor buy kept mall purchas retail retailer sal shelf shop shopper warehous; storag capacity memory preservat stor;
story fiction myth narrativ tal; strategy methodology strategic tactic; stream feed; string char;
structur architectural structural; styl appearanc artistic design fancy fashion stylish them visual wear worn;
subject examinat gender topic; submit submiss vot; subscrib sub subscriber;
subscript account membership newsletter subscrib subscriber; subsequent preced prior prospectiv;
successful accomplish achievement satisfact satisfi succ success; such thus; suggest advis consider idea recommend recommendat;
sum addit sery; summary paragraph synopsis; support strengthen; suppress deny eliminat prevent reduct; sur cours yes;
switch shift swap; syntax claus cod grammar pars statement; synthesiz synthesis synthetic; system machin servic; tab tablet;
tabl column row; tak taken; target aim; task activity homework process system; team community franchis gam leagu player roster;
templat html layout pag them; ten digit dozen eight eleven fifteen fifth fiv forty nin seven seventh six twelv twenty;
term definit dictionary phras terminology thesaurus vocabulary webster word;
test compar exam examin examinat experiment experimental experimentat quiz result sampl study; text font html paragraph;
thought imagin mental mind opinion wonder;
thre combinat dozen eight fiv four fourth iii nin seven six third thirty trio tripl twelv; threshold minimum;
tim clock second temporal timely; titl headlin renam;
today ago friday monday morn saturday sunday thursday tomorrow tonight tuesday wednesday yesterday;
together agreement apart collaborat coupl duo gather involv meet mutual partner partnership separat;
tool drill hammer knif softwar toolbox; top abov bottom high main middl topless upper; topic essay;
total amount combin full lot overall paid remain worth; track surveillanc tracker; transact exchang payment receipt transfer;
transcript mrna rna; transformat transform; trash garbag junk wast;
travel abroad airfar departur destinat explorat flight going hospitality journey mobility sail tourism tourist transit transport transportat traveler travell traveller trip vacat visit;
tre arbor forest forestry leaf oak plant timber wood; trend popularity; tru fair; try attempt cant desperat difficult stuck tri;
turn flip rev revers; two another four thre; typ generic kind; typical classic usual; unavailabl availability disabl unabl;
unchang modifi replac replacement; under behind insid low lower upper;
understand confus explanat interpretat learn simpl understood; undon removabl undo; unifi universal;
uniqu distinct duplicat identical; unit imperial quantity; updat delet latest refresh version; upload download submit;
upstream flow; usag context used useful utiliz; use purpos reus usag used useful using utiliz;
useful beneficial benefit convenienc convenient effectiv effectiveness handy help helpful importanc important practical purpos significanc;
user customer owner player; using usag used utiliz;
valid acceptabl applicabl incorrect invalid invalidat legitimat logical rul validity; validat validity verificat;
valu amount currency dollar equal pric quantity valuabl valuat worth; var varianc; variat vari vary;
various particular specific vari; verificat authenticat confirmat detect identity proof verifi;
verify confirm confirmat detect disput proof prov verifi verificat; version download edition origin;
video documentary dvd footag photograph pictur televis watch; view perspectiv preview sight viewer vision;
visibl accessibl apparent appearanc blind expos glow hid hidden indicat invisibl observ presenc prominent sight transparency transparent visibility;
visual artistic creativity design graphic illustrat percept perspectiv sight vision; warn caution concern worri worry;
watch listen; web brows chrom computer googl net netscap porn webmaster www yahoo;
webpag brows browser chrom homepag html http webmaster; websit googl homepag host link www;
west central eastern midwest northern northwest pacific southwest western;
win award beat champion championship competit competitiv contest defeat fight gam goal los loss opponent outcom priz successful victory winner won;
window glass screen; work awesom nic tri; workspac spac workstat; wrap unwrap;
writ letter literacy literary pen spell writer written; xiv vii; zon coast;
`

let near: ReadonlyMap<string, readonly string[]> | undefined

/** For each word the others of its entries. Read once. */
export function nearWords(): ReadonlyMap<string, readonly string[]> {
  near ??= read()
  return near
}

function read(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  const put = (word: string, other: string) => {
    const others = found.get(word)
    if (others) others.push(other)
    else found.set(word, [other])
  }
  for (const entry of TABLE.trim().split(/;\s*/)) {
    const [head = '', ...others] = entry.split(' ')
    for (const other of others) {
      put(head, other)
      put(other, head)
    }
  }
  return found
}

// glob.ts: names as rules spell them, and `*` in them. The language itself is read in config/rule-syntax.ts.
export { matchesGlob, ruleSpelling } from '../config/rule-syntax.ts'

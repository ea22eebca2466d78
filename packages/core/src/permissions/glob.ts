// glob.ts: names as rules spell them, and `*` in them. config/rule-syntax.ts parses the rule language itself.
export { matchesGlob, ruleSpelling } from '../config/rule-syntax.ts'

// skills: what a skill is, and when one of its files may be used.
export {
  folderOf,
  parseSkill,
  pathBelow,
  SKILL_FILE,
  SKILLS_EXTENSION,
  type SkillEntry,
  type SkillFileEntry,
} from './entry.ts'
export { type SkillFile, verifyFile, type WantedFile } from './verify.ts'

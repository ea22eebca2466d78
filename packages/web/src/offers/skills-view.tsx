// skills-view.tsx: the skills of the servers, and their files as they were checked against what the server lists.
import { useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Chip, Code, IconButton, Loading, Problem } from '../parts/basics.tsx'
import { RichText } from '../parts/rich-text.tsx'
import { request } from '../state/board.ts'
import { OfferPane, useListed } from './offer-pane.tsx'

interface Skill {
  readonly server: string
  readonly name: string
  readonly description: string
  readonly uri: string
  /** Undefined when the server does not list them. */
  readonly files?: readonly string[]
}

const SKILL_FILE = 'SKILL.md'

export default function SkillsView() {
  const listed = useListed<Skill>('board/skills')
  const [chosen, setChosen] = useState<Skill>()
  const offers = listed?.map((skill) => ({
    ...skill,
    key: skill.uri,
    title: skill.name,
    about: skill.description,
  }))
  return (
    <OfferPane
      title="Skills"
      icon="skills"
      empty="No server has skills here"
      offers={offers}
      isChosen={({ server, uri }) => chosen?.uri === uri && chosen.server === server}
      onChoose={setChosen}
      detail={
        chosen && (
          <SkillDetail
            key={`${chosen.server} ${chosen.uri}`}
            skill={chosen}
            onClose={() => setChosen(undefined)}
          />
        )
      }
    />
  )
}

interface SkillText {
  readonly path: string
  readonly text?: string
  readonly bytes: string
  readonly verified?: boolean
}

function SkillDetail({ skill, onClose }: { readonly skill: Skill; readonly onClose: () => void }) {
  const { server, name, description, uri, files = [SKILL_FILE] } = skill
  const [file, setFile] = useState(SKILL_FILE)
  const [read, setRead] = useState<SkillText>()
  const [failure, setFailure] = useState<string>()
  useEffect(() => {
    setRead(undefined)
    setFailure(undefined)
    request<SkillText>('board/readSkill', { server, name: uri, file, context: {} }).then(
      setRead,
      (error: unknown) => setFailure(failureOf(error).message),
    )
  }, [server, uri, file])
  return (
    <section className="pane detail" aria-labelledby="skill-title">
      <header className="pane-head">
        <h2 id="skill-title">{name}</h2>
        <Chip>{server}</Chip>
        <div className="pane-actions">
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      <p>{description}</p>
      <div className="bar">
        <label>
          <span className="visually-hidden">File</span>
          <select value={file} onChange={(event) => setFile(event.target.value)}>
            {files.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {skill.files === undefined && (
          <Chip tone="ask">the server lists no files, so nothing is verified</Chip>
        )}
      </div>
      {failure !== undefined && <Problem title={failure} />}
      {!read && failure === undefined && <Loading>Reading…</Loading>}
      {read && <SkillContent {...read} />}
    </section>
  )
}

function SkillContent({ path, text, bytes }: SkillText) {
  if (text === undefined) return <p className="dim">{`${path} is no text (${decodedBytes(bytes)} bytes).`}</p>
  return /\.(md|markdown)$/i.test(path) ? (
    <RichText text={withoutFrontMatter(text)} />
  ) : (
    <Code label={path}>{text}</Code>
  )
}

/** Of base64: each `=` at the end stands for a byte that is not there. */
function decodedBytes(base64: string): number {
  const padding = /={0,2}$/.exec(base64)?.[0].length ?? 0
  return (base64.length * 3) / 4 - padding
}

/** What stands between two lines of dashes at the top is for programs. */
function withoutFrontMatter(text: string): string {
  return text.replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, '')
}

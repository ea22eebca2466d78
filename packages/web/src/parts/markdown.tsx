// markdown.tsx: Markdown of servers as elements. HTML in it stays text, links open outside and only for the web, and images
// of other machines are not loaded.
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { gfm } from 'micromark-extension-gfm'
import { createElement, Fragment, type ReactNode, useMemo } from 'react'

/** A node of the tree; which members it has depends on its type. */
interface Node {
  readonly type: string
  readonly value?: string
  readonly children?: readonly Node[]
  readonly url?: string
  readonly alt?: string | null
  readonly identifier?: string
  readonly ordered?: boolean | null
  readonly start?: number | null
  readonly checked?: boolean | null
}

export default function Markdown({ text }: { readonly text: string }) {
  // The types of the packages describe each node of its own; the drawing needs what they share.
  const tree = useMemo(
    () =>
      fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] }) as unknown as Node,
    [text],
  )
  return <div className="markdown">{drawn(tree.children ?? [], 0)}</div>
}

/** A text that nests deeper than this is an attack, not a document. */
const DEPTH = 60

/** Elements that only hold others. The headings of a server do not belong to the outline of the page. */
const PLAIN: Readonly<Record<string, string>> = {
  paragraph: 'p',
  emphasis: 'em',
  strong: 'strong',
  delete: 'del',
  blockquote: 'blockquote',
  tableRow: 'tr',
  tableCell: 'td',
}

function drawn(nodes: readonly Node[], depth: number): ReactNode {
  if (depth > DEPTH) return '…'
  // biome-ignore lint/suspicious/noArrayIndexKey: the tree is drawn anew when its text changes
  return nodes.map((node, at) => <Fragment key={at}>{element(node, depth + 1)}</Fragment>)
}

function element(node: Node, depth: number): ReactNode {
  const children = drawn(node.children ?? [], depth)
  const plain = PLAIN[node.type]
  if (plain !== undefined) return createElement(plain, {}, children)
  switch (node.type) {
    case 'text':
    case 'html':
      return node.value
    case 'inlineCode':
      return <code>{node.value}</code>
    case 'code':
      return <pre>{node.value}</pre>
    case 'break':
      return <br />
    case 'thematicBreak':
      return <hr />
    case 'heading':
      return <p className="md-heading">{children}</p>
    case 'list':
      return node.ordered === true ? <ol start={node.start ?? 1}>{children}</ol> : <ul>{children}</ul>
    case 'listItem':
      return (
        <li>
          {typeof node.checked === 'boolean' && (node.checked ? '☑ ' : '☐ ')}
          {children}
        </li>
      )
    case 'table':
      return (
        <table>
          <tbody>{children}</tbody>
        </table>
      )
    case 'link':
      return <Link address={node.url ?? ''}>{children}</Link>
    case 'image':
      return <Image address={node.url ?? ''} alt={node.alt ?? ''} />
    case 'definition':
      return null
    default:
      return children
  }
}

function Link({ address, children }: { readonly address: string; readonly children: ReactNode }) {
  if (!/^https?:\/\//i.test(address)) return <span>{children}</span>
  return (
    <a href={address} target="_blank" rel="noreferrer noopener" title={address}>
      {children}
    </a>
  )
}

function Image({ address, alt }: { readonly address: string; readonly alt: string }) {
  if (address.startsWith('data:image/')) return <img src={address} alt={alt} />
  return <span className="dim">[image{alt === '' ? '' : `: ${alt}`}]</span>
}

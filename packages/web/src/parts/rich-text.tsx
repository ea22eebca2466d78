// rich-text.tsx: text that may be Markdown: shown as plain text until the reader for Markdown is loaded.
import { lazy, Suspense } from 'react'

const Markdown = lazy(() => import('./markdown.tsx'))

const LIMIT = 100_000

export function RichText({ text }: { readonly text: string }) {
  const plain = <p className="plain-text">{text}</p>
  return text.length > LIMIT ? (
    plain
  ) : (
    <Suspense fallback={plain}>
      <Markdown text={text} />
    </Suspense>
  )
}

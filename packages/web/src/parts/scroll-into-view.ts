// scroll-into-view.ts: on a narrow screen the views are a strip that scrolls; the current one is kept in sight.
import { useEffect, useRef } from 'react'

export function useScrollIntoView(view: string) {
  const strip = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another view is another current item
  useEffect(() => {
    const current = strip.current?.querySelector('[aria-current]')
    current?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [view])
  return strip
}

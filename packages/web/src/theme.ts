// theme.ts: light or dark: as the system says, unless the user chose.

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'plugboard.theme'

export function chosenTheme(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme(theme)
}

export function nextTheme(theme: Theme): Theme {
  return theme === 'system' ? 'light' : theme === 'light' ? 'dark' : 'system'
}

/** Told when light becomes dark or the other way, by the user or by the system. */
export function onThemeChange(tell: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  const chosen = new MutationObserver(tell)
  chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  system.addEventListener('change', tell)
  return () => {
    chosen.disconnect()
    system.removeEventListener('change', tell)
  }
}

export function isDark(): boolean {
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark'
}

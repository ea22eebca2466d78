// theme-button.tsx: light, dark, or as the system has it.
import { useState } from 'react'
import { chooseTheme, chosenTheme, nextTheme } from '../theme.ts'
import { IconButton } from './basics.tsx'

export function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme)
  return (
    <IconButton
      icon="sun"
      label={`Theme: ${theme}`}
      onClick={() => {
        const next = nextTheme(theme)
        chooseTheme(next)
        setTheme(next)
      }}
    />
  )
}

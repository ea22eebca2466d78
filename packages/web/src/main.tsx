// main.tsx: signs in with the token of the address, then shows the board.
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { signIn } from './connection/sign-in.ts'
import { board, startBoard } from './state/board.ts'
import { applyTheme } from './theme.ts'
import './styles/index.css'

applyTheme()
const place = document.getElementById('page')
if (place)
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
const signedIn = await signIn()
if (signedIn) startBoard(signedIn)
else board.set({ link: 'refused' })

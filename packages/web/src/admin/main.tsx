// main.tsx: the page of a gateway's administrators.
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme } from '../theme.ts'
import { AdminApp } from './admin-app.tsx'
import '../styles/index.css'

applyTheme()
const place = document.getElementById('page')
if (place)
  createRoot(place).render(
    <StrictMode>
      <AdminApp />
    </StrictMode>,
  )

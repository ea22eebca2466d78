// tabs.tsx: several views of one thing.
import { Tab, TabList, TabPanel, TabProvider } from '@ariakit/react'
import type { ReactNode } from 'react'

export interface TabSpec {
  readonly id: string
  readonly title: ReactNode
  readonly content: () => ReactNode
}

interface TabsProps {
  readonly label: string
  readonly tabs: readonly TabSpec[]
  readonly selected: string
  readonly onSelect: (id: string) => void
}

export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  return (
    <TabProvider selectedId={selected} setSelectedId={(id) => onSelect(id ?? selected)}>
      <TabList className="tabs" aria-label={label}>
        {tabs.map(({ id, title }) => (
          <Tab key={id} id={id} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {tabs.map(({ id, content }) => (
        <TabPanel key={id} tabId={id} className="tab-panel" unmountOnHide>
          {id === selected && content()}
        </TabPanel>
      ))}
    </TabProvider>
  )
}

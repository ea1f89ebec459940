import { SegmentedControl } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { adviceTabs } from '../../lib/url/adviceUrl'
import { AdviceCards } from './AdviceCards'
import { ChangePlanView } from './plan/ChangePlanView'
import { DriftView } from './plan/DriftView'

const route = getRouteApi('/advice')

const tabWords = { cards: 'Advice', plan: 'Change plan', drift: 'Drift' } as const

/** What to change: card by card, as one plan of the fleet, and where settings differ already. */
export function AdvicePage(): ReactNode {
  const { tab = 'cards' } = route.useSearch()
  const navigate = route.useNavigate()
  const tabs = (
    <SegmentedControl
      aria-label="View"
      value={tab}
      onChange={(value) => {
        const next = adviceTabs.find((known) => known === value)
        void navigate({ search: (before) => ({ ...before, tab: next === 'cards' ? undefined : next }) })
      }}
      data={adviceTabs.map((value) => ({ value, label: tabWords[value] }))}
    />
  )
  return (
    <div data-testid="page-advice">
      {tab === 'cards' && <AdviceCards tabs={tabs} />}
      {tab === 'plan' && <ChangePlanView tabs={tabs} />}
      {tab === 'drift' && <DriftView tabs={tabs} />}
    </div>
  )
}

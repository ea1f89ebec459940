import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { alertsQuery } from '../../api/queries/alerts/alerts'
import { alertTabs } from '../../lib/url/alertsUrl'
import { Headline } from '../../ui/layout/Headline'
import { useTimeRange } from '../shell/time/useTimeRange'
import { AlertsTab } from './AlertsTab'
import { alertsSentence } from './alertsSentence'
import { RoutesTab } from './notifications/RoutesTab'
import { RulesTab } from './rules/RulesTab'
import { SilencesTab } from './silences/SilencesTab'
import { TimelineTab } from './TimelineTab'

const route = getRouteApi('/alerts')

const tabLabels = {
  alerts: 'Alerts',
  timeline: 'Timeline',
  rules: 'Rules',
  silences: 'Silences',
  routes: 'Routes and deliveries',
} as const

/** What needs somebody now, what happened, what is watched, and who is told. */
export function AlertsPage(): ReactNode {
  const { tab = 'alerts' } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const open = useQuery(alertsQuery('open', {}, range.refreshMs))
  const setTab = (next: string | null) => {
    const chosen = alertTabs.find((name) => name === next)
    void navigate({
      search: (before) => ({ ...before, tab: chosen === 'alerts' ? undefined : chosen, alert: undefined }),
      resetScroll: false,
    })
  }
  return (
    <div data-testid="page-alerts">
      <Headline
        kicker={<h1>Alerts</h1>}
        sentence={open.data === undefined ? (open.isError ? '' : undefined) : alertsSentence(open.data.items)}
      />
      <Tabs value={tab} onChange={setTab} keepMounted={false}>
        <Tabs.List mb="sm">
          {alertTabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {tabLabels[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="alerts">
          <AlertsTab />
        </Tabs.Panel>
        <Tabs.Panel value="timeline">
          <TimelineTab />
        </Tabs.Panel>
        <Tabs.Panel value="rules">
          <RulesTab />
        </Tabs.Panel>
        <Tabs.Panel value="silences">
          <SilencesTab />
        </Tabs.Panel>
        <Tabs.Panel value="routes">
          <RoutesTab />
        </Tabs.Panel>
      </Tabs>
    </div>
  )
}

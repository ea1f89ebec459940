import type { ReactNode } from 'react'
import { Tabs } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostQuery } from '../../api/queries/fleet/hosts'
import { hostTabs } from '../../lib/url/urlState'
import { Headline } from '../../ui/layout/Headline'
import { Timestamp } from '../../ui/text/Timestamp'
import { SubjectProblem } from '../shell/NotFound'
import { NoteTimeContext } from '../../charts/noteTime'
import { SubjectCompare } from '../shell/time/SubjectCompare'
import { EventsControl } from '../shell/time/EventsControl'
import { useEventMarks } from '../shell/time/useEventMarks'
import { useNow } from '../shell/time/useNow'
import { useTimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { CountersTab } from './counters/CountersTab'
import { HardwareTab } from './hardware/HardwareTab'
import { HostAdviceTab } from './HostAdviceTab'
import { HostFairnessTab } from './HostFairnessTab'
import { MovesTab } from '../tierMoves/MovesTab'
import { hostPingPongQuery } from '../../api/queries/ledger/pingPong'
import { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import { HostOverviewTab } from './HostOverviewTab'
import { HostStateTag } from './HostStateTag'
import { SetupTab } from './setup/SetupTab'

const route = getRouteApi('/hosts/$hostId')

const tabLabels = {
  overview: 'Overview',
  advice: 'Advice',
  moves: 'Tier moves',
  fairness: 'Fairness',
  counters: 'Counters',
  hardware: 'Hardware',
  setup: 'Agent and setup',
} as const

/** Tabs with charts that can be compared. */
const comparedTabs: string[] = ['overview', 'moves', 'counters', 'hardware']

/** One host: its tiers, what moves between them, its counters, and how it is set up. */
export function HostPage(): ReactNode {
  const { hostId } = route.useParams()
  const { tab = 'overview', compare } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const now = useNow()
  const query = useQuery(hostQuery(hostId, range.refreshMs))
  const load = loadStateOf(query)
  const host = query.data
  const events = useEventMarks(
    { services: host?.services.map((service) => service.id) ?? [], hosts: [hostId] },
    { host: hostId },
  )
  const comparison = useTimeComparison(compare, 'host', events.events)
  if (load.problem !== null && host === undefined) return <SubjectProblem load={load} noun="host" id={hostId} />
  const setTab = (next: string | null) => {
    const chosen = hostTabs.find((name) => name === next)
    void navigate({
      search: (before) => ({ ...before, tab: chosen === 'overview' ? undefined : chosen }),
      resetScroll: false,
    })
  }
  return (
    <NoteTimeContext value={events.startNote}>
      <div data-testid="page-host">
        <Headline
          kicker={
            <>
              <Link to="/hosts">Hosts</Link>
              <span aria-hidden>/</span>
              <h1>{host === undefined ? '…' : host.summary.name}</h1>
              {host !== undefined && (
                <>
                  <HostStateTag state={host.summary.state} />
                  <span>
                    seen <Timestamp at={host.summary.last_seen} now={now} />
                  </span>
                </>
              )}
            </>
          }
          sentence={host?.headline}
          aside={
            <>
              {comparedTabs.includes(tab) && (
                <SubjectCompare
                  noun="host"
                  id={hostId}
                  compare={compare}
                  comparison={comparison}
                  events={events.events}
                />
              )}
              <EventsControl events={events} />
            </>
          }
        />
        <Tabs value={tab} onChange={setTab} keepMounted={false}>
          <Tabs.List mb="sm">
            {hostTabs.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {tabLabels[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="overview">
            <HostOverviewTab hostId={hostId} host={host} marks={events.marks} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="advice">
            <HostAdviceTab hostId={hostId} />
          </Tabs.Panel>
          <Tabs.Panel value="moves">
            <MovesTab
              id={hostId}
              ledgerOf={hostLedgerQuery}
              pingPongOf={hostPingPongQuery}
              marks={events.marks}
              comparison={comparison}
            />
          </Tabs.Panel>
          <Tabs.Panel value="fairness">
            <HostFairnessTab hostId={hostId} marks={events.marks} />
          </Tabs.Panel>
          <Tabs.Panel value="counters">
            <CountersTab hostId={hostId} marks={events.marks} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="hardware">
            <HardwareTab host={host} load={load} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="setup">
            <SetupTab hostId={hostId} host={host} />
          </Tabs.Panel>
        </Tabs>
      </div>
    </NoteTimeContext>
  )
}

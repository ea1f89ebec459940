import type { ReactNode } from 'react'
import { Button, Tabs } from '@mantine/core'
import { IconPlayerTrackNext } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { serviceQuery } from '../../api/queries/fleet/services'
import { podOwnerText } from '../../lib/text/pods'
import { serviceTabs } from '../../lib/url/urlState'
import { Headline } from '../../ui/layout/Headline'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import { SubjectProblem } from '../shell/NotFound'
import { NoteTimeContext } from '../../charts/noteTime'
import { SubjectCompare } from '../shell/time/SubjectCompare'
import { EventsControl } from '../shell/time/EventsControl'
import { useEventMarks } from '../shell/time/useEventMarks'
import { useTimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { AdviceTab } from './AdviceTab'
import { CurveTab } from './CurveTab'
import { HeatmapTab } from './heat/HeatmapTab'
import { MovesTab } from '../tierMoves/MovesTab'
import { servicePingPongQuery } from '../../api/queries/ledger/pingPong'
import { serviceLedgerQuery } from '../../api/queries/ledger/tierMoves'
import { NetworkNote } from './NetworkNote'
import { OwnerControl } from './OwnerControl'
import { OverviewTab } from './overview/OverviewTab'
import { RevisitTab } from './heat/RevisitTab'
import { SensitivityTab } from './sensitivity/SensitivityTab'
import { ServiceFairnessTab } from './ServiceFairnessTab'
import { ServiceHostsTab } from './ServiceHostsTab'

const route = getRouteApi('/services/$serviceId')

const tabLabels = {
  overview: 'Overview',
  heatmap: 'Heatmap',
  revisit: 'Re-access',
  curve: 'Hit-ratio curve',
  sensitivity: 'Sensitivity',
  moves: 'Tier moves',
  fairness: 'Fairness',
  hosts: 'Hosts',
  advice: 'Advice',
} as const

/** Tabs whose charts are compared by the choice above them; the heatmap has its own. */
const comparedTabs: string[] = ['overview', 'revisit', 'curve', 'sensitivity', 'moves']

/** One service: how hot its memory is, where, and what moves. */
export function ServicePage(): ReactNode {
  const { serviceId } = route.useParams()
  const { tab = 'overview', compare } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const query = useQuery(serviceQuery(serviceId, range))
  const load = loadStateOf(query)
  const service = query.data
  const events = useEventMarks({ services: [serviceId], hosts: service?.hosts ?? [] }, { service: serviceId })
  const comparison = useTimeComparison(compare, 'service', events.events)
  if (load.problem !== null && service === undefined)
    return <SubjectProblem load={load} noun="service" id={serviceId} />
  const setTab = (next: string | null) => {
    const chosen = serviceTabs.find((name) => name === next)
    void navigate({
      search: (before) => ({ ...before, tab: chosen === 'overview' ? undefined : chosen }),
      resetScroll: false,
    })
  }
  return (
    <NoteTimeContext value={events.startNote}>
      <div data-testid="page-service">
        <Headline
          kicker={
            <>
              <Link to="/services">Services</Link>
              <span aria-hidden>/</span>
              <h1>{service === undefined ? '…' : service.summary.name}</h1>
              {service !== undefined && <span>{service.summary.namespace}</span>}
              {service?.owner !== null && service?.owner !== undefined && (
                <span data-testid="workload">
                  {podOwnerText(service.owner.kind, service.owner.name, service.owner.source)}
                </span>
              )}
              {service !== undefined && <OwnerControl serviceId={serviceId} owner={service.summary.owner_team} />}
              {service !== undefined && <span>now</span>}
              {service !== undefined && (
                <span>
                  gravest on its hosts: <VerdictTag verdict={service.summary.verdict} />
                </span>
              )}
            </>
          }
          sentence={service?.headline}
          aside={
            <>
              <Button
                variant="default"
                leftSection={<IconPlayerTrackNext size={14} aria-hidden />}
                renderRoot={(props) => <Link {...props} to="/simulator" search={{ service: serviceId }} />}
              >
                Simulate
              </Button>
              {comparedTabs.includes(tab) && (
                <SubjectCompare
                  noun="service"
                  id={serviceId}
                  compare={compare}
                  comparison={comparison}
                  events={events.events}
                />
              )}
              <EventsControl events={events} ownerTeam={service?.summary.owner_team?.id} />
            </>
          }
        />
        {comparedTabs.includes(tab) && <NetworkNote serviceId={serviceId} comparison={comparison} />}
        <Tabs value={tab} onChange={setTab} keepMounted={false}>
          <Tabs.List mb="sm">
            {serviceTabs.map((name) => (
              <Tabs.Tab key={name} value={name}>
                {tabLabels[name]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="overview">
            <OverviewTab serviceId={serviceId} service={service} marks={events.marks} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="heatmap">
            <HeatmapTab serviceId={serviceId} service={service} events={events} />
          </Tabs.Panel>
          <Tabs.Panel value="revisit">
            <RevisitTab serviceId={serviceId} marks={events.marks} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="curve">
            <CurveTab serviceId={serviceId} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="sensitivity">
            <SensitivityTab serviceId={serviceId} marks={events.marks} comparison={comparison} />
          </Tabs.Panel>
          <Tabs.Panel value="advice">
            <AdviceTab serviceId={serviceId} />
          </Tabs.Panel>
          <Tabs.Panel value="moves">
            <MovesTab
              id={serviceId}
              ledgerOf={serviceLedgerQuery}
              pingPongOf={servicePingPongQuery}
              marks={events.marks}
              comparison={comparison}
            />
          </Tabs.Panel>
          <Tabs.Panel value="fairness">
            <ServiceFairnessTab serviceId={serviceId} />
          </Tabs.Panel>
          <Tabs.Panel value="hosts">
            <ServiceHostsTab serviceId={serviceId} service={service} />
          </Tabs.Panel>
        </Tabs>
      </div>
    </NoteTimeContext>
  )
}

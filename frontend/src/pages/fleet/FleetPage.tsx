import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router'
import { useMemo, type ReactNode } from 'react'
import type { FleetOverview } from '../../api/_generated/schema'
import { alertsQuery } from '../../api/queries/alerts/alerts'
import { loadStateOf } from '../../api/queries/base/loadState'
import { fleetQuery } from '../../api/queries/fleet/fleet'
import { LinesChart } from '../../charts/lines/LinesChart'
import { matrixLines } from '../../charts/matrix/figure'
import { MatrixChart } from '../../charts/matrix/MatrixChart'
import { ServiceHeatChart } from '../../charts/serviceHeat/ServiceHeatChart'
import { TierFlowChart } from '../../charts/tierFlow/TierFlowChart'
import { moveColours } from '../../lib/palette'
import { countOf } from '../../lib/units/units'
import { Columns } from '../../ui/layout/Columns'
import { Later } from '../../ui/layout/Later'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'
import { ToneTag } from '../../ui/tags/ToneTag'
import { ServicesTable } from '../services/ServicesTable'
import { NoteTimeContext } from '../../charts/noteTime'
import { EventsControl } from '../shell/time/EventsControl'
import { SubjectCompare } from '../shell/time/SubjectCompare'
import { useEventMarks } from '../shell/time/useEventMarks'
import { askOther, useGhost, useTimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { useListSearch } from '../shell/useListSearch'
import { CausesPanel } from './CausesPanel'
import classes from './FleetPage.module.css'
import { FleetStats } from './FleetStats'
import { GridSection } from './GridSection'
import { NextActionPanel } from './NextActionPanel'
import { ReclaimablePanel } from './ReclaimablePanel'
import { StatisticsPanels } from './StatisticsPanels'

function moveColour(key: string): string {
  if (key.startsWith('promot')) return moveColours.promotion
  return key.startsWith('demot') ? moveColours.demotion : moveColours.other
}

const route = getRouteApi('/')

function movesOf(fleet: FleetOverview) {
  return { axis: fleet.moves_axis, lines: fleet.moves }
}

function pressureOf(fleet: FleetOverview) {
  return { axis: fleet.moves_axis, lines: fleet.psi }
}

/** The whole installation on one screen: how hot, what moves, where it hurts. */
export function FleetPage(): ReactNode {
  const { range, zoomTo } = useTimeRange()
  const { sort, setSort } = useListSearch('/', '-resident')
  const navigate = useNavigate()
  const query = useQuery(fleetQuery(range))
  const load = loadStateOf(query)
  const fleet = query.data
  const events = useEventMarks('fleet')
  const { compare } = route.useSearch()
  const comparison = useTimeComparison(compare, 'fleet', events.events)
  const other = askOther(comparison, '', range)
  const earlier = useQuery({ ...fleetQuery(other.range), ...other.options })
  const movesGhost = useGhost(comparison, earlier, movesOf)
  const pressureGhost = useGhost(comparison, earlier, pressureOf)
  const coldGhost = useGhost(comparison, earlier, matrixLines)
  const openService = (serviceId: string) => void navigate({ to: '/services/$serviceId', params: { serviceId } })
  const moves = useMemo(() => (fleet?.moves ?? []).map((line) => ({ ...line, colour: moveColour(line.key) })), [fleet])
  const pressure = useMemo(() => fleet?.psi ?? [], [fleet])

  if (load.problem !== null && fleet === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  return (
    <NoteTimeContext value={events.startNote}>
      <div data-testid="page-fleet">
        <Headline
          kicker={
            <>
              <h1>Fleet</h1>
              <span>now</span>
            </>
          }
          sentence={fleet?.headline}
          aside={
            <>
              <FiringAlerts refreshMs={range.refreshMs} inNeed={fleet?.hosts_in_need ?? 0} />
              <SubjectCompare noun="fleet" compare={compare} comparison={comparison} events={events.events} />
              <EventsControl events={events} />
            </>
          }
        />
        <Stack>
          <div className={classes.answers}>
            <ReclaimablePanel refreshMs={range.refreshMs} />
            <CausesPanel fleet={fleet} />
            <NextActionPanel refreshMs={range.refreshMs} />
          </div>
          {fleet?.hosts_total === 0 && fleet.away.nodes.length === 0 && (
            <EmptyState
              title="No host reports yet"
              next={
                <>
                  <Link to="/add-hosts">Add hosts</Link> with the agent, or from your Prometheus.{' '}
                  <Link to="/status">Status</Link> shows the parts of this installation.
                </>
              }
            />
          )}
          <Columns stretch>
            <GridSection window={fleet?.window} range={range} height={280} />
            <ServiceHeatChart fleet={fleet} load={load} onService={openService} />
          </Columns>
          <FleetStats fleet={fleet} />
          <Later isDue={fleet !== undefined}>
            <TierFlowChart fleet={fleet} load={load} height={270} />
            <MatrixChart
              fleet={fleet}
              load={load}
              marks={events.marks}
              ghost={coldGhost}
              onService={openService}
              onTimeZoom={zoomTo}
            />
            <Columns stretch>
              <LinesChart
                name="fleet-moves"
                title="Tier moves"
                label="Tier moves of all hosts over time"
                hint={fleet?.moves_missing ?? undefined}
                load={load}
                axis={fleet?.moves_axis}
                lines={moves}
                ghost={movesGhost}
                marks={events.marks}
                height={200}
                evidence={fleet?.promotion_pages_per_s}
                onTimeZoom={zoomTo}
                emptyText={{
                  title: 'No tier moves in this time range',
                  next: 'Hosts with one tier have none. Widen the time range, or see Hosts for their tiers.',
                }}
              />
              <LinesChart
                name="fleet-psi"
                title="Memory pressure"
                label="Memory pressure of all hosts over time"
                hint={fleet?.moves_missing ?? undefined}
                load={load}
                axis={fleet?.moves_axis}
                lines={pressure}
                ghost={pressureGhost}
                marks={events.marks}
                height={200}
                evidence={fleet?.psi_memory_some_ratio}
                onTimeZoom={zoomTo}
                emptyText={{
                  title: 'No pressure data in this time range',
                  next: 'Pressure stall information needs a kernel with CONFIG_PSI; see the collectors of a host.',
                }}
              />
            </Columns>
            <Panel
              title="Services"
              hint={fleet === undefined ? undefined : `${fleet.services.length}, now`}
              flush
              testId="fleet-services"
            >
              <ServicesTable services={fleet?.services} sort={sort} onSort={setSort} />
            </Panel>
            <StatisticsPanels />
          </Later>
        </Stack>
      </div>
    </NoteTimeContext>
  )
}

/** How many alerts fire or are about to, the most severe named; leads to them. Green only where no host needs someone. */
function FiringAlerts({ refreshMs, inNeed }: { refreshMs: number | null; inNeed: number }) {
  const { data, isError } = useQuery(alertsQuery('firing', {}, refreshMs))
  const pending = useQuery(alertsQuery('pending', {}, refreshMs)).data?.items.length ?? 0
  if (isError) return <ToneTag tone="neutral" label="alerts unknown" />
  if (data === undefined) return <Skeleton width={120} height={20} />
  const all = data.items.length
  const critical = data.items.filter(({ severity }) => severity === 'critical').length
  const grave = critical === 0 ? '' : ` (${critical} critical)`
  const coming = pending === 0 ? '' : `, ${pending} pending`
  return (
    <Link to="/alerts" data-testid="firing-alerts">
      <ToneTag
        tone={critical > 0 ? 'critical' : all > 0 ? 'warning' : inNeed + pending > 0 ? 'neutral' : 'good'}
        label={(all === 0 ? 'no alerts firing' : `${countOf(all, 'alert')} firing${grave}`) + coming}
      />
    </Link>
  )
}

import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { DataQuality, FleetQuality } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { dataQualityQuery } from '../../api/queries/operate/dataQuality'
import { GapTimelineChart } from '../../charts/gapTimeline/GapTimelineChart'
import { formatLocal } from '../../lib/units/time'
import { countOf, formatRatio } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { useTimeRange } from '../shell/time/useTimeRange'
import classes from './DataQualityPage.module.css'
import { QualityTable } from './QualityTable'

const stats = [
  ['received', 'Received', 'Intervals received'],
  ['missing', 'Missing', 'Intervals missing'],
  ['late', 'Late', 'Intervals that came later than ten minutes'],
  ['corrected', 'Timestamp corrected', 'Intervals with a corrected timestamp'],
  ['too_late', 'Too late', 'Intervals that came too late to be kept'],
  ['set_aside', 'Quarantined', 'Intervals quarantined'],
  ['duplicates', 'Retransmitted', 'Batches retransmitted'],
  ['dropped', 'Dropped', 'Batches that agents dropped'],
] as const

/** Sums over all hosts; zero, not collected and not enough data look different. */
function QualityStats({ fleet }: { fleet: FleetQuality | undefined }) {
  return (
    <StatStrip label="Data quality of the fleet" columns={4}>
      {stats.map(([key, label, name]) => (
        <Stat key={key} label={label} name={name} figure={fleet?.[key]} />
      ))}
    </StatStrip>
  )
}

const route = getRouteApi('/data-quality')

function sentenceOf({ fleet }: DataQuality): string {
  const expected = fleet.expected_intervals.value
  const received = fleet.received.value
  const hosts = fleet.hosts.value ?? 0
  if (expected === null || received === null || expected === 0) {
    return fleet.expected_intervals.reason ?? 'No host was expected to report in this time range.'
  }
  const gapless = fleet.gapless_hosts.value ?? 0
  const skewed = fleet.skewed_hosts.value ?? 0
  const clocks = skewed === 0 ? '' : ` ${countOf(skewed, 'clock')} ${skewed === 1 ? 'is' : 'are'} off.`
  return `${formatRatio(received / expected)} of the intervals expected from ${countOf(hosts, 'host')} arrived; ${gapless === hosts ? 'no host has gaps' : `${countOf(gapless, 'host')} ${gapless === 1 ? 'has' : 'have'} no gaps`}.${clocks}`
}

/** What arrived, what is missing and why: sums of the fleet, gaps over time, and each host. */
export function DataQualityPage(): ReactNode {
  const { cursor, sort = '-missing' } = route.useSearch()
  const navigate = route.useNavigate()
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(dataQualityQuery(range, cursor))
  const load = loadStateOf(query)
  const view = query.data
  if (load.problem !== null && view === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const open = (next: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, cursor: next }), resetScroll: false })
  const next = view?.hosts.next_cursor
  return (
    <div data-testid="page-data-quality">
      <Headline kicker={<h1>Data quality</h1>} sentence={view === undefined ? undefined : sentenceOf(view)} />
      <Stack>
        <QualityStats fleet={view?.fleet} />
        <GapTimelineChart hosts={view?.hosts.items} window={view?.window} load={load} onTimeZoom={zoomTo} />
        <Panel
          title="Hosts"
          hint={
            view === undefined
              ? undefined
              : `most missing first; arrivals counted since ${formatLocal(new Date(view.counted_since))}`
          }
          flush
          testId="quality-hosts"
        >
          <QualityTable
            hosts={view?.hosts.items}
            sort={sort}
            onSort={(chosen) =>
              void navigate({ search: (before) => ({ ...before, sort: chosen }), replace: true, resetScroll: false })
            }
          />
          {(cursor !== undefined || next != null) && (
            <div className={classes.pages}>
              <Button variant="default" disabled={cursor === undefined} onClick={() => open(undefined)}>
                First hosts
              </Button>
              <Button variant="default" disabled={next == null} onClick={() => open(next ?? undefined)}>
                Next hosts
              </Button>
            </div>
          )}
        </Panel>
      </Stack>
    </div>
  )
}

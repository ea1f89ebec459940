import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { AgeBucket } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { hostQuery } from '../../../api/queries/fleet/hosts'
import { heatQuery } from '../../../api/queries/heat/heat'
import { tilesQuery } from '../../../api/queries/heat/tiles'
import { AgeHistogramChart } from '../../../charts/ageHistogram/AgeHistogramChart'
import { gapWords } from '../../../charts/ageHistogram/figure'
import type { HeatGrid } from '../../../lib/heat/heatGrid'
import { selectedParts, selectionAges, type IntervalBytes } from '../../../lib/heat/selectionAges'
import { granularityWords, shortMethodName } from '../../../lib/units/figure'
import { formatDuration, toRfc3339 } from '../../../lib/units/time'
import { formatBytes, formatCount, formatRatio } from '../../../lib/units/units'
import type { Box } from '../../../lib/url/urlState'
import { Panel } from '../../../ui/layout/Panel'
import classes from './SelectionPanel.module.css'

const route = getRouteApi('/services/$serviceId')
/** The most that the API gives: a selection within it is read interval by interval, row by row. */
const finest = { maxRows: 1024, maxColumns: 2000 }

function bucketsOf(parts: IntervalBytes[] | undefined): AgeBucket[] | undefined {
  return parts?.map((part) => ({
    from_intervals: part.fromIntervals,
    to_intervals: part.toIntervals,
    active_bytes: part.seenBytes,
    never_bytes: part.boundBytes,
  }))
}

/** The tiers of a host by name, fastest first as its nodes are. */
function tierWords(tiers: string[] | undefined, bytes: number): string {
  if (tiers === undefined) return '…'
  if (tiers.length === 1) return `${formatBytes(bytes)} in ${tiers[0]}, the host’s only tier`
  return 'not collected'
}

/** Pages of the host: null where nothing tells their size, undefined while it is loaded. */
function pageWords(bytes: number | undefined, pageBytes: number | null | undefined): string {
  if (pageBytes === null) return 'not known: the host does not tell its page size'
  return bytes === undefined || pageBytes === undefined ? '…' : formatCount(Math.ceil(bytes / pageBytes))
}

interface SelectionAgesPanelsProps {
  serviceId: string
  grid: HeatGrid
  /** Rows of the grid and the time that are selected. */
  box: Box
}

/** Ages, re-access, pages and tier of exactly the selected addresses, from the finest tiles of the selected time. */
export function SelectionAgesPanels({ serviceId, grid, box }: SelectionAgesPanelsProps) {
  const { scheme = 'recency', threshold } = route.useSearch()
  const range = { from: toRfc3339(box.t0), to: toRfc3339(box.t1), refreshMs: null }
  const tiles = useQuery({
    ...tilesQuery(serviceId, { host: grid.hostId, group: grid.group, ...finest }, range),
    placeholderData: undefined,
  })
  const heat = useQuery(heatQuery(serviceId, { scheme, threshold, host: grid.hostId, max_hosts: 1 }, range))
  const host = useQuery(hostQuery(grid.hostId, null))
  const fine = tiles.data
  const intervalSeconds = heat.data?.interval_seconds ?? fine?.columnSeconds
  const told = useMemo(
    () =>
      fine === undefined || intervalSeconds === undefined
        ? undefined
        : selectionAges(fine, selectedParts(grid, box, fine), box, intervalSeconds),
    [grid, box, fine, intervalSeconds],
  )
  const [ages, gaps] = useMemo(() => [bucketsOf(told?.ages), bucketsOf(told?.gaps)], [told])
  const load = loadStateOf(tiles)
  const pageBytes = host.data?.page_size_bytes
  const tiers = host.data === undefined ? undefined : [...new Set(host.data.nodes.map(({ tier_class: tier }) => tier))]
  const method =
    fine === undefined || told === undefined || told === null
      ? '\u00a0'
      : `${shortMethodName(fine.backend)}, ${granularityWords(fine.granularity)}, ${told.columns} columns of ${formatDuration(fine.columnSeconds)}, rows of ${formatBytes(fine.regionBytes * fine.rowsPerCell)}; ${formatRatio(told.knownShare)} of the resident memory was observed. A row is as young as its youngest part.`
  const moved =
    fine !== undefined &&
    fine.epochIds[0] !== grid.epochIds[0] &&
    grid.rows.some(({ mapping }) => /^anon-\d+$/.test(mapping))
  return (
    <>
      <Panel title="Memory at these addresses" hint="at the end of the selection" testId="selection-memory">
        <dl className={classes.list}>
          <dt>Resident, at most</dt>
          <dd>{told ? formatBytes(told.residentBytes) : '…'}</dd>
          <dt>{pageBytes ? `Pages of ${formatBytes(pageBytes)}, at most` : 'Pages, at most'}</dt>
          <dd data-testid="selection-pages">{pageWords(told?.residentBytes, pageBytes)}</dd>
          <dt>Not observed at the end</dt>
          <dd>{told ? formatBytes(told.unknownBytes) : '…'}</dd>
          <dt>Tier</dt>
          <dd data-testid="selection-tier">{tierWords(tiers, told?.residentBytes ?? 0)}</dd>
        </dl>
        {tiers !== undefined && tiers.length > 1 && (
          <p className={classes.measure}>
            Tiles hold activity, and agents report tiers by page kind and age, not by address. On the host,
            /proc/PID/numa_maps lists the nodes of each mapping; the service’s placement by tier is among the host’s
            counters.
          </p>
        )}
        {moved && (
          <p className={classes.measure}>
            Mappings changed after the selected time: unnamed ones (anon-1, …) are matched by number, and may hold
            different data.
          </p>
        )}
      </Panel>
      <AgeHistogramChart
        buckets={told === null ? [] : ages}
        evidence={undefined}
        load={load}
        height={200}
        title="Age of the selected memory"
        scheme={heat.data?.scheme}
        hint={method}
      />
      <AgeHistogramChart
        buckets={told === null ? [] : gaps}
        evidence={undefined}
        load={load}
        height={200}
        name="reaccess-gaps"
        title="Re-access of the selected memory"
        words={gapWords}
        scheme={heat.data?.scheme}
        hint="From one activity of a row to its next; a row counts once for each. Gaps that hold an unobserved interval are left out."
      />
    </>
  )
}

import { useQuery } from '@tanstack/react-query'
import type { Change, Outlier } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { fleetStatisticsQuery } from '../../api/queries/fleet/fleetStatistics'
import { formatQuantity } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { NotesList } from '../../ui/text/NotesList'
import { Timestamp } from '../../ui/text/Timestamp'
import { useTimeRange } from '../shell/time/useTimeRange'
import { ConfounderTag } from './ConfounderTag'
import { GroupsTable } from './GroupsTable'
import { HostLink, ServiceLink } from '../shell/links'

const outlierColumns: Column<Outlier>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (row) => <HostLink id={row.host_id}>{row.host}</HostLink>,
  },
  { key: 'metric', header: 'Metric', cell: (row) => row.label },
  {
    key: 'value',
    header: 'This host',
    numeric: true,
    cell: (row) => formatQuantity(row.value, row.unit),
    value: (row) => ({ amount: row.value, unit: row.unit }),
  },
  {
    key: 'median',
    header: 'Peer hosts',
    numeric: true,
    cell: (row) => formatQuantity(row.median, row.unit),
    value: (row) => ({ amount: row.median, unit: row.unit }),
  },
  {
    key: 'score',
    header: 'Robust score',
    value: (row) => row.score,
    numeric: true,
    cell: (row) => <span title={`${row.windows} hours in a row`}>{row.score.toFixed(1)}</span>,
  },
  {
    key: 'group',
    header: 'Service',
    cell: (row) => (
      <>
        {row.group.service} <ConfounderTag warnings={row.confounders} />
      </>
    ),
    value: (row) => row.group.service,
  },
]

const changeColumns: Column<Change>[] = [
  { key: 'at', header: 'When', cell: (row) => <Timestamp at={new Date(row.at * 1000).toISOString()} /> },
  {
    key: 'subject',
    header: 'Service',
    cell: (row) => <ServiceLink id={row.service_id}>{row.subject}</ServiceLink>,
  },
  { key: 'metric', header: 'Metric', cell: (row) => row.label },
  {
    key: 'change',
    header: 'Before and after',
    numeric: true,
    cell: (row) =>
      row.before === null || row.after === null
        ? row.direction
        : `${formatQuantity(row.before, row.unit)} → ${formatQuantity(row.after, row.unit)}`,
  },
  {
    key: 'event',
    header: 'Events within 15 min',
    cell: (row) => (row.matched.length === 0 ? 'none' : row.matched.map((event) => event.text).join('; ')),
  },
]

/** Peer hosts compared: which are outliers, what changed and which event was near, and the groups themselves. */
export function StatisticsPanels() {
  const { range } = useTimeRange()
  const query = useQuery(fleetStatisticsQuery(range))
  const load = loadStateOf(query)
  const found = query.data
  if (load.problem !== null && found === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const unknown = found?.missing != null
  const missing = found?.missing?.reason ?? 'Hosts are compared hourly within their peer group.'
  const noChange = found?.missing?.reason ?? 'Levels of services are compared hourly with those of the last three days.'
  return (
    <>
      <Panel
        title="Outlier hosts"
        hint="beyond 3.5 robust standard deviations of at least 8 peer hosts, three hours in a row"
        flush
        testId="fleet-outliers"
      >
        <DataTable
          label="Outlier hosts"
          columns={outlierColumns}
          rows={found?.outliers}
          rowKey={(row) => `${row.host_id} ${row.metric}`}
          skeletonRows={3}
          empty={{ title: unknown ? 'Not enough data yet' : 'No outlier hosts', next: missing }}
        />
      </Panel>
      <Panel title="Change points" hint="per service, with the events near them" flush testId="fleet-changes">
        <DataTable
          label="Change points"
          columns={changeColumns}
          rows={found?.changes}
          rowKey={(row) => `${row.service_id} ${row.metric} ${row.at} ${row.found_by}`}
          skeletonRows={3}
          empty={{ title: unknown ? 'Not enough data yet' : 'No change points', next: noChange }}
        />
      </Panel>
      <Panel
        title="Peer hosts"
        hint="same service, hardware, ratio, kernel and agent; quantiles over hosts and hours"
        flush
        testId="fleet-groups"
      >
        <GroupsTable groups={found?.groups} empty={missing} />
      </Panel>
      <NotesList notes={found?.notes} />
    </>
  )
}

import { Progress } from '@mantine/core'
import type { AgentVersion } from '../../api/_generated/schema'
import { formatCount, formatRatio } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './AgentsPage.module.css'
import { standings } from './standings'

/** Releases side by side: how many hosts run each, since when, and whether the service supports it. */
export function AgentVersionsTable({ versions, now }: { versions: AgentVersion[] | undefined; now: Date }) {
  const total = versions?.reduce((sum, { hosts }) => sum + hosts, 0) ?? 0
  return (
    <DataTable
      label="Agent releases"
      columns={columns(total, now)}
      rows={versions}
      rowKey={(row) => row.version ?? 'none'}
      skeletonRows={3}
      empty={{ title: 'No agent has reported yet', next: 'Enrol a host with a join token: see below.' }}
    />
  )
}

function columns(total: number, now: Date): Column<AgentVersion>[] {
  const share = (row: AgentVersion) => (total === 0 ? 0 : row.hosts / total)
  return [
    {
      key: 'version',
      header: 'Release',
      cell: (row) => (row.version === null ? 'unknown' : <span className="ts-mono">{row.version}</span>),
    },
    {
      key: 'standing',
      header: 'Status',
      cell: (row) => <ToneTag {...standings[row.standing]} />,
    },
    {
      key: 'supported',
      header: 'Supported',
      cell: (row) => (row.supported ? 'yes' : 'no'),
    },
    { key: 'hosts', header: 'Hosts', numeric: true, cell: (row) => formatCount(row.hosts), value: (row) => row.hosts },
    {
      key: 'share',
      header: 'Of all hosts',
      value: (row) => ({ amount: share(row), unit: 'ratio' }),
      cell: (row) => (
        <span className={classes.share}>
          <Progress
            value={share(row) * 100}
            aria-label={`${formatRatio(share(row))} of hosts run ${row.version ?? 'an unknown release'}`}
          />
          <span>{formatRatio(share(row))}</span>
        </span>
      ),
    },
    {
      key: 'protocol',
      header: 'Protocol',
      numeric: true,
      cell: (row) => row.protocol ?? 'unknown',
      value: (row) => row.protocol,
    },
    { key: 'first', header: 'First seen', cell: (row) => <Timestamp at={row.first_seen} /> },
    { key: 'last', header: 'Last seen', cell: (row) => <Timestamp at={row.last_seen} now={now} /> },
  ]
}

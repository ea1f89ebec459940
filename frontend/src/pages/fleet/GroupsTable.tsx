import { Select } from '@mantine/core'
import { useState } from 'react'
import type { Group, GroupMetric } from '../../api/_generated/schema'
import { formatQuantity } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ConfounderTag } from './ConfounderTag'
import classes from './FleetPage.module.css'
import { ServiceLink } from '../shell/links'

interface Row {
  group: Group
  metric: GroupMetric | undefined
}

function quantile(key: 'p10' | 'p50' | 'p90' | 'p99'): Column<Row> {
  return {
    key,
    header: key,
    numeric: true,
    cell: ({ metric }) => (metric === undefined ? '–' : formatQuantity(metric.quantiles[key], metric.unit)),
    value: ({ metric }) => ({ amount: metric?.quantiles[key] ?? null, unit: metric?.unit ?? '' }),
  }
}

const columns: Column<Row>[] = [
  {
    key: 'service',
    header: 'Service',
    cell: ({ group }) => <ServiceLink id={group.key.service_id}>{group.key.service}</ServiceLink>,
  },
  {
    key: 'alike',
    header: 'Hardware · ratio · kernel · agent',
    cell: ({ group: { key } }) =>
      [key.sku, key.ratio, key.kernel, key.agent_version].map((part) => part ?? 'unknown').join(' · '),
  },
  {
    key: 'confounders',
    header: 'Beside memory',
    cell: ({ group }) => <ConfounderTag warnings={group.confounders} />,
    value: ({ group }) => group.confounders.join(' '),
  },
  { key: 'hosts', header: 'Hosts', numeric: true, cell: ({ group }) => group.n_hosts },
  quantile('p10'),
  quantile('p50'),
  quantile('p90'),
  quantile('p99'),
]

/** Peer groups with the quantiles of one metric. */
export function GroupsTable({ groups, empty }: { groups: Group[] | undefined; empty: string }) {
  const [chosen, choose] = useState<string | null>(null)
  const labels = new Map(groups?.flatMap((group) => group.metrics.map(({ metric, label }) => [metric, label] as const)))
  const metric = chosen ?? [...labels.keys()][0] ?? null
  const rows = groups?.map((group): Row => ({ group, metric: group.metrics.find((one) => one.metric === metric) }))
  return (
    <>
      {labels.size > 0 && (
        <Select
          className={classes.metric ?? ''}
          aria-label="Metric of the groups"
          value={metric}
          onChange={choose}
          data={[...labels].map(([value, label]) => ({ value, label }))}
        />
      )}
      <DataTable
        label="Peer groups"
        columns={columns}
        rows={rows}
        rowKey={({ group }) => JSON.stringify(group.key)}
        skeletonRows={4}
        empty={{ title: 'No groups yet', next: empty }}
      />
    </>
  )
}

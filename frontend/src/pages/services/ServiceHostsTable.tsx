import { Link, getRouteApi } from '@tanstack/react-router'
import type { HostHeat } from '../../api/_generated/schema'
import { formatBytes } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn, labelledColumn } from '../../ui/tables/figureColumn'
import { HostLink } from '../shell/links'

const route = getRouteApi('/services/$serviceId')

const base: Column<HostHeat>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (host) => <HostLink id={host.host_id}>{host.host_name}</HostLink>,
  },
  amountColumn('resident', 'Resident', (host) => host.resident_bytes, formatBytes, { unit: 'bytes' }),
  labelledColumn('hot', 'Hot', (host) => [host.hot_ratio, `Hot share on ${host.host_name}`]),
]

/** The hosts' shares in the service's heat, each with a way to its heatmap. */
export function ServiceHostsTable({ hosts }: { hosts: HostHeat[] | undefined }) {
  const { serviceId } = route.useParams()
  const columns: Column<HostHeat>[] = [
    ...base,
    {
      key: 'map',
      header: 'Open',
      numeric: true,
      cell: (host) => (
        <Link to="/services/$serviceId" params={{ serviceId }} search={{ tab: 'heatmap', host: host.host_id }}>
          Heatmap
        </Link>
      ),
    },
  ]
  return (
    <DataTable
      label="Hosts of the service"
      columns={columns}
      rows={hosts}
      rowKey={(host) => host.host_id}
      skeletonRows={3}
      empty={{
        title: 'No host measures heat here',
        next: 'Heat is opt-in per host: see the collectors on a host’s Setup tab.',
      }}
    />
  )
}

import { Link, getRouteApi } from '@tanstack/react-router'
import type { HostHeat } from '../../api/_generated/schema'
import { formatBytes } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'

const route = getRouteApi('/services/$serviceId')

const base: Column<HostHeat>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (host) => (
      <Link to="/hosts/$hostId" params={{ hostId: host.host_id }}>
        {host.host_name}
      </Link>
    ),
  },
  {
    key: 'resident',
    header: 'Resident',
    numeric: true,
    cell: (host) => formatBytes(host.resident_bytes),
    value: (host) => ({ amount: host.resident_bytes, unit: 'bytes' }),
  },
  {
    key: 'hot',
    header: 'Hot',
    numeric: true,
    cell: (host) => <FigureText figure={host.hot_ratio} label={`Hot share on ${host.host_name}`} />,
  },
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

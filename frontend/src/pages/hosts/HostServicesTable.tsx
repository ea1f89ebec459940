import type { HostService } from '../../api/_generated/schema'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './HostServicesTable.module.css'
import { ServiceLink } from '../shell/links'

const columns: Column<HostService>[] = [
  {
    key: 'name',
    header: 'Service',
    cell: (service) => (
      <ServiceLink id={service.id}>
        {service.namespace}/{service.name}
      </ServiceLink>
    ),
  },
  { key: 'processes', header: 'Processes', numeric: true, cell: (service) => service.processes },
  { key: 'rule', header: 'Found by', cell: (service) => service.rule },
  {
    key: 'heat',
    header: 'Heat',
    cell: (service) => (
      <>
        {service.heat_measured ? (
          <ToneTag tone="good" label="measured" />
        ) : (
          <Nothing status="not_collected" reason={service.heat_reason} />
        )}
        {service.heat_reason !== null && <div className={classes.reason}>{service.heat_reason}</div>}
      </>
    ),
  },
]

/** Services seen on the host, and whether their heat is measured. */
export function HostServicesTable({ services }: { services: HostService[] | undefined }) {
  return (
    <DataTable
      label="Services on this host"
      columns={columns}
      rows={services}
      rowKey={(service) => service.id}
      skeletonRows={3}
      empty={{
        title: 'No services found',
        next: 'Services come from systemd units, pods, cgroups or rules in the agent’s file.',
      }}
    />
  )
}

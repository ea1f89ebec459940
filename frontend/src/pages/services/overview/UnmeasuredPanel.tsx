import type { UnmeasuredHost } from '../../../api/_generated/schema'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { HostLink } from '../../shell/links'

const columns: Column<UnmeasuredHost>[] = [
  { key: 'host', header: 'Host', cell: (host) => <HostLink id={host.host_id}>{host.host_name}</HostLink> },
  { key: 'reason', header: 'Why', cell: (host) => host.reason },
]

/** Who of the service's processes is not measured for heat, and why; nothing where all are. */
export function UnmeasuredPanel({ hosts }: { hosts: UnmeasuredHost[] | undefined }) {
  if (hosts === undefined || hosts.length === 0) return null
  return (
    <Panel title="Not measured for heat" hint="now, whatever the time range" flush testId="not-measured">
      <DataTable label="Not measured for heat" columns={columns} rows={hosts} rowKey={(host) => host.host_id} />
    </Panel>
  )
}

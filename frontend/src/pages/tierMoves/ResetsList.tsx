import type { LedgerReset } from '../../api/_generated/schema'
import { groupResets, type ResetCause } from '../../lib/fleet/resets'
import { toRfc3339 } from '../../lib/units/time'
import { formatCount } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'

const columns: Column<ResetCause>[] = [
  { key: 'cause', header: 'Cause', cell: (group) => <Prose text={group.cause} /> },
  amountColumn('stretches', 'Intervals', (group) => group.stretches, formatCount),
  { key: 'first', header: 'First', cell: (group) => <Timestamp at={toRfc3339(group.firstSeconds)} /> },
  { key: 'last', header: 'Last', cell: (group) => <Timestamp at={toRfc3339(group.lastSeconds)} /> },
  {
    key: 'columns',
    header: 'Columns',
    cell: (group) => (
      <span title={group.columns.join(', ')}>
        {group.columns.length === 0
          ? 'all'
          : group.columns.length > 3
            ? `${group.columns.length} columns`
            : group.columns.join(', ')}
      </span>
    ),
  },
]

/** What was left out of the totals, and why. */
export function ResetsList({ resets }: { resets: LedgerReset[] }) {
  return (
    <Panel title="Excluded intervals" hint="intervals that no total counts" flush>
      <DataTable
        label="Excluded intervals"
        columns={columns}
        rows={groupResets(resets)}
        rowKey={(group) => group.cause}
      />
    </Panel>
  )
}

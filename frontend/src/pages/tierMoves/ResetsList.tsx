import type { LedgerReset } from '../../api/_generated/schema'
import { toRfc3339 } from '../../lib/time'
import { DataTable, type Column } from '../../ui/DataTable'
import { Panel } from '../../ui/Panel'
import { Timestamp } from '../../ui/Timestamp'

const columns: Column<LedgerReset>[] = [
  { key: 'at', header: 'At', cell: (reset) => <Timestamp at={toRfc3339(reset.at)} /> },
  { key: 'cause', header: 'Cause', cell: (reset) => reset.cause },
  {
    key: 'columns',
    header: 'Columns',
    cell: (reset) => (reset.columns.length === 0 ? 'all' : reset.columns.join(', ')),
  },
]

const mostRows = 50

/** What was left out of the totals, and why. */
export function ResetsList({ resets }: { resets: LedgerReset[] }) {
  return (
    <Panel
      title="Left out"
      hint={`${Math.min(mostRows, resets.length)} of ${resets.length} stretches that no total counts`}
      flush
    >
      <DataTable
        label="Stretches left out"
        columns={columns}
        rows={resets.slice(0, mostRows)}
        rowKey={(reset) => `${reset.at}-${reset.cause}-${reset.columns.join()}`}
      />
    </Panel>
  )
}

import { Progress } from '@mantine/core'
import type { Purge, PurgedTable } from '../../api/_generated/schema'
import { formatCount, formatRatio } from '../../lib/units/units'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import { Fault } from '../../ui/states/Fault'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Timestamp } from '../../ui/text/Timestamp'

const columns: Column<PurgedTable>[] = [
  { key: 'table', header: 'Table', cell: (row) => <code>{row.table}</code> },
  {
    key: 'rows',
    header: 'Rows removed or rewritten',
    numeric: true,
    cell: (row) => formatCount(row.rows),
    value: (row) => row.rows,
  },
]

/** How far a removal is, and what it removed from which table. */
export function PurgeReport({ purge }: { purge: Purge }) {
  const words = {
    waiting: 'It waits for a worker.',
    running: `It runs: ${formatRatio(purge.progress_ratio)} of its steps are done.`,
    done: 'It is done.',
  }
  return (
    <Stack testId="purge-report">
      <p role="status">
        {purge.subject.name}: {words[purge.status]}{' '}
        {purge.finished_at !== null && (
          <>
            Finished <Timestamp at={purge.finished_at} />.
          </>
        )}
      </p>
      {purge.status !== 'done' && (
        <Progress value={purge.progress_ratio * 100} aria-label={`Progress of removing ${purge.subject.name}`} />
      )}
      {purge.error !== null && <Fault text={`The last try failed: ${purge.error}. It is tried again.`} />}
      {(purge.status === 'done' || purge.report.length > 0) && (
        <DataTable
          label={`Removed with ${purge.subject.name}`}
          columns={columns}
          rows={purge.report}
          rowKey={(row) => row.table}
          empty={<EmptyState title="No table held anything" next="There was nothing to remove." />}
        />
      )}
    </Stack>
  )
}

import { Progress } from '@mantine/core'
import type { Purge, PurgedTable } from '../../api/_generated/schema'
import { formatCount, formatRatio } from '../../lib/units/units'
import { Stack } from '../../ui/layout/Stack'
import { Fault } from '../../ui/states/Fault'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { Timestamp } from '../../ui/text/Timestamp'

const columns: Column<PurgedTable>[] = [
  { key: 'table', header: 'Table', cell: (row) => <code>{row.table}</code> },
  amountColumn('rows', 'Rows removed or rewritten', (row) => row.rows, formatCount),
]

/** How far a removal is, and what it removed from which table. */
export function PurgeReport({ purge }: { purge: Purge }) {
  const words = {
    waiting: 'Waiting for a worker.',
    running: `Running: ${formatRatio(purge.progress_ratio)} done.`,
    done: 'Done.',
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
      {purge.error !== null && <Fault text={`The last attempt failed: ${purge.error}. It will be retried.`} />}
      {(purge.status === 'done' || purge.report.length > 0) && (
        <DataTable
          label={`Removed with ${purge.subject.name}`}
          columns={columns}
          rows={purge.report}
          rowKey={(row) => row.table}
          empty={{ title: 'No data found', next: 'There was nothing to remove.' }}
        />
      )}
    </Stack>
  )
}

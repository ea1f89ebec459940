import { ActionIcon } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import type { SweepResults } from '../../api/_generated/schema'
import { safeFileName, toCsv, type Table } from '../../lib/csv'
import { settingsText } from '../../lib/simulate'
import { downloadText } from '../../ui/download'

/** All runs as a table, one row each. */
export function cellsTable(results: SweepResults): Table {
  return {
    columns: [
      'policy',
      'DRAM (ratio of memory)',
      'settings',
      'local share (ratio)',
      'loss (ratio)',
      'loss, low (ratio)',
      'loss, high (ratio)',
      'promoted (pages/s)',
      'demoted (pages/s)',
      'tier moves (MB/s)',
      'ping-pong (ratio of promotions)',
      'major faults (/s)',
      'price of memory (ratio of all DRAM)',
      'error',
    ],
    rows: results.cells.map((cell) => [
      cell.policy,
      cell.dram_ratio,
      settingsText(cell.settings),
      cell.local_ratio.value,
      cell.loss.value,
      cell.loss.interval?.lo ?? null,
      cell.loss.interval?.hi ?? null,
      cell.promoted_pages_per_s.value,
      cell.demoted_pages_per_s.value,
      cell.tier_move_mb_per_s.value,
      cell.ping_pong_ratio.value,
      cell.major_faults_per_s.value,
      cell.cost_ratio,
      cell.error,
    ]),
  }
}

/** Hands the runs over as CSV. */
export function GridDownload({ results }: { results: SweepResults | undefined }) {
  return (
    <ActionIcon
      aria-label="Download all runs as CSV"
      disabled={results === undefined || results.cells.length === 0}
      onClick={() => {
        if (results === undefined) return
        downloadText(
          `${safeFileName(`tierscope-sweep-${results.sweep_id}`)}.csv`,
          toCsv(cellsTable(results)),
          'text/csv',
        )
      }}
    >
      <IconDownload size={16} />
    </ActionIcon>
  )
}

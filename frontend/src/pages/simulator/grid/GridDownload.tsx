import type { SweepResults } from '../../../api/_generated/schema'
import type { Table } from '../../../lib/export/csv'
import { settingsText } from '../../../lib/simulate'
import { ExportMenu } from '../../../ui/export/ExportMenu'

/** All runs as a table, one row each. */
function cellsTable(results: SweepResults): Table {
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

/** Hands the runs out. */
export function GridDownload({ results }: { results: SweepResults | undefined }) {
  const any = results !== undefined && results.cells.length > 0
  return (
    <ExportMenu
      name={`sweep-${results?.sweep_id ?? ''}`}
      label="all runs"
      table={any ? () => cellsTable(results) : null}
    />
  )
}

import { Progress } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Sweep } from '../../api/_generated/schema'
import { ratioName, sweepStatus } from '../../lib/simulate'
import { formatCount, formatRatio } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable, type TableEmpty } from '../../ui/tables/DataTable'
import { amountColumn, timeColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './SimulatorPage.module.css'
import { sourceText } from './sourceText'

const columns: Column<Sweep>[] = [
  {
    key: 'name',
    header: 'Sweep',
    sortBy: (row) => row.name,
    cell: (row) => (
      <Link to="/simulator/$sweepId" params={{ sweepId: row.id }}>
        {row.name}
      </Link>
    ),
  },
  { key: 'trace', header: 'Trace', sortBy: (row) => sourceText(row), cell: (row) => sourceText(row) },
  amountColumn('policies', 'Policies', (row) => row.policies.length, formatCount, { sorted: true }),
  {
    key: 'ratios',
    header: 'DRAM:CXL',
    cell: (row) =>
      [...row.dram_ratios]
        .sort((a, b) => b - a)
        .map(ratioName)
        .join(', '),
  },
  amountColumn('runs', 'Runs', (row) => row.total, formatCount, { sorted: true }),
  timeColumn('created', 'Started', (row) => row.created_at),
  { key: 'by', header: 'By', cell: (row) => row.created_by ?? '–' },
  {
    key: 'state',
    header: 'State',
    sortBy: (row) => row.status,
    cell: (row) => (
      <span className={classes.state}>
        <ToneTag {...sweepStatus(row.status)} />
        {row.status === 'running' && (
          <Progress
            className={classes.bar ?? ''}
            value={row.progress_ratio * 100}
            size="sm"
            aria-label={`Progress of ${row.name}: ${formatRatio(row.progress_ratio)}`}
          />
        )}
      </span>
    ),
  },
]

interface SweepsTableProps {
  sweeps: Sweep[] | undefined
  sort: string
  onSort: (sort: string) => void
  empty: TableEmpty
}

/** All sweeps with what they replay and how far they are. */
export function SweepsTable({ sweeps, sort, onSort, empty }: SweepsTableProps) {
  return (
    <DataTable
      label="Sweeps"
      columns={columns}
      rows={sweeps}
      rowKey={(row) => row.id}
      sort={sort}
      onSort={onSort}
      empty={empty}
      skeletonRows={3}
    />
  )
}

import { Tooltip } from '@mantine/core'
import type { LedgerColumn } from '../../api/_generated/schema'
import { DataTable, type Column } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { FigureText } from '../../ui/FigureText'
import { TrustTag } from '../../ui/TrustTag'
import classes from './LedgerColumns.module.css'

const columns: Column<LedgerColumn>[] = [
  { key: 'label', header: 'Column', cell: (column) => column.label },
  {
    key: 'total',
    header: 'Total',
    numeric: true,
    cell: (column) => <FigureText figure={column.total} label={`${column.label}, total`} />,
  },
  {
    key: 'rate',
    header: 'Rate',
    numeric: true,
    cell: (column) => <FigureText figure={column.rate} label={`${column.label}, rate`} />,
  },
  { key: 'trust', header: 'Trust', cell: (column) => <TrustTag trust={column.trust} /> },
  {
    key: 'counters',
    header: 'Kernel counters',
    cell: (column) =>
      column.counters.length === 0 ? (
        <span className={classes.none}>none</span>
      ) : (
        <Tooltip label={column.counters.join(', ')}>
          <span className={`ts-mono ${classes.counters ?? ''}`}>{column.counters.join(', ')}</span>
        </Tooltip>
      ),
  },
  { key: 'note', header: 'Note', cell: (column) => <span className={classes.note}>{column.trust_note}</span> },
]

/** Every column of the ledger with its total, rate, the counters behind it and how far they can be trusted. */
export function LedgerColumns({ columns: rows }: { columns: LedgerColumn[] | undefined }) {
  const ranked =
    rows === undefined
      ? undefined
      : [...rows].sort((a, b) => Number(a.trust === 'not_supported') - Number(b.trust === 'not_supported'))
  return (
    <DataTable
      label="Columns of the ledger"
      columns={columns}
      rows={ranked}
      rowKey={(column) => column.key}
      skeletonRows={10}
      empty={<EmptyState title="No columns" next="The host has sent no counters of tier moves yet." />}
    />
  )
}

import { Button, Tooltip } from '@mantine/core'
import { useState } from 'react'
import type { LedgerColumn } from '../../api/_generated/schema'
import { TrustTag } from '../../ui/provenance/TrustTag'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn } from '../../ui/tables/figureColumn'
import classes from './LedgerColumns.module.css'

const columns: Column<LedgerColumn>[] = [
  { key: 'label', header: 'Column', cell: (column) => column.label },
  labelledColumn('total', 'Total', (column) => [column.total, `${column.label}, total`]),
  labelledColumn('rate', 'Rate', (column) => [column.rate, `${column.label}, rate`]),
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

interface LedgerColumnsProps {
  columns: LedgerColumn[] | undefined
}

/** Every column of the ledger with its total, rate, the counters behind it and how far they can be trusted. */
export function LedgerColumns({ columns: rows }: LedgerColumnsProps) {
  const [all, setAll] = useState(false)
  const supported = rows?.filter((column) => column.trust !== 'not_supported')
  const rest = rows?.filter((column) => column.trust === 'not_supported') ?? []
  return (
    <>
      <DataTable
        label="Columns of the ledger"
        columns={columns}
        rows={supported === undefined || !all ? supported : [...supported, ...rest]}
        rowKey={(column) => column.key}
        skeletonRows={10}
        empty={{ title: 'No columns', next: 'The host has sent no counters of tier moves yet.' }}
      />
      {rest.length > 0 && (
        <Button variant="subtle" m="xs" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Hide' : 'Show'} {rest.length} columns that are not supported here
        </Button>
      )}
    </>
  )
}

import { Table } from '@mantine/core'
import type { Table as TableData } from '../../lib/export/csv'
import classes from './TableView.module.css'

const mostRows = 500

/** The values behind a chart as a table; the CSV holds all rows, the screen the newest 500. */
export function TableView({ table, label }: { table: TableData; label: string }) {
  const rows = table.rows.slice(-mostRows)
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label={`${label} as a table`}>
      {rows.length < table.rows.length && (
        <p className={classes.note}>
          The last {mostRows} of {table.rows.length} rows; the CSV has all.
        </p>
      )}
      <Table stickyHeader verticalSpacing={3} className={classes.table}>
        <Table.Thead>
          <Table.Tr>
            {table.columns.map((column, index) => (
              <Table.Th key={index}>{column}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={index}>
              {row.map((cell, column) => (
                <Table.Td key={column}>
                  {cell === null ? (
                    <span className={classes.absent}>no value</span>
                  ) : typeof cell === 'number' ? (
                    roundForScreen(cell)
                  ) : (
                    cell
                  )}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  )
}

function roundForScreen(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 })
}

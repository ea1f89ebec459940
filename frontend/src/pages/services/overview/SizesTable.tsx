import type { SizeHeat } from '../../../api/_generated/schema'
import { formatBytes } from '../../../lib/units/units'
import { FigureText } from '../../../ui/figures/FigureText'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { ratioOf, sharesColumn } from './classShares'

const nameOf = (row: SizeHeat): string =>
  row.page_size_bytes === null ? 'not kept apart' : formatBytes(row.page_size_bytes)

const columns: Column<SizeHeat>[] = [
  { key: 'size', header: 'Page size', cell: (row) => <strong>{nameOf(row)}</strong> },
  labelledColumn('resident', 'Resident', (row) => [row.resident_bytes, `Resident memory in pages of ${nameOf(row)}`]),
  sharesColumn,
  {
    key: 'lower',
    header: 'Hot, at least',
    value: (row) => (row.huge_pages === null ? ratioOf(row, 'hot') : row.huge_pages.hot_bytes_lower),
    numeric: true,
    cell: (row) =>
      row.huge_pages === null ? (
        <FigureText figure={ratioOf(row, 'hot')} label={`Hot share of pages of ${nameOf(row)}`} />
      ) : (
        <>
          {row.huge_pages.skewed === true && (
            <ToneTag tone="warning" label="skewed" meaning="Less than a tenth of these huge pages is accessed." />
          )}{' '}
          <FigureText
            figure={row.huge_pages.hot_bytes_lower}
            label={`Hot bytes in pages of ${nameOf(row)}, at least`}
          />
        </>
      ),
  },
]

/** Heat by page size: one touch makes a whole huge page hot, so its lower bound stands beside. */
export function SizesTable({ sizes }: { sizes: SizeHeat[] }) {
  return (
    <DataTable
      label="Heat by page size"
      columns={columns}
      rows={sizes}
      rowKey={(row) => String(row.page_size_bytes)}
      skeletonRows={2}
    />
  )
}

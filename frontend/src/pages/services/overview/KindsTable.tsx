import type { KindHeat } from '../../../api/_generated/schema'
import { FigureText } from '../../../ui/figures/FigureText'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ratioOf, sharesColumn } from './classShares'

const columns: Column<KindHeat>[] = [
  { key: 'kind', header: 'Kind', cell: (kind) => <strong>{kind.kind}</strong> },
  {
    key: 'resident',
    header: 'Resident',
    numeric: true,
    cell: (kind) => <FigureText figure={kind.resident_bytes} label={`Resident ${kind.kind} memory`} />,
  },
  sharesColumn,
  {
    key: 'hot',
    header: 'Hot',
    numeric: true,
    cell: (kind) => <FigureText figure={ratioOf(kind, 'hot')} label={`Hot share of ${kind.kind}`} />,
  },
  {
    key: 'cold',
    header: 'Cold',
    numeric: true,
    cell: (kind) => <FigureText figure={ratioOf(kind, 'cold')} label={`Cold share of ${kind.kind}`} />,
  },
]

/** Heat by page kind. */
export function KindsTable({ kinds }: { kinds: KindHeat[] | undefined }) {
  return (
    <DataTable
      label="Heat by page kind"
      columns={columns}
      rows={kinds}
      rowKey={(kind) => kind.kind}
      skeletonRows={3}
      empty={{ title: 'No kinds in this time range', next: 'Widen the time range.' }}
    />
  )
}

import type { KindHeat } from '../../../api/_generated/schema'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ratioOf, sharesColumn } from './classShares'

const columns: Column<KindHeat>[] = [
  { key: 'kind', header: 'Kind', cell: (kind) => <strong>{kind.kind}</strong> },
  labelledColumn('resident', 'Resident', (kind) => [kind.resident_bytes, `Resident ${kind.kind} memory`]),
  sharesColumn,
  labelledColumn('hot', 'Hot', (kind) => [ratioOf(kind, 'hot'), `Hot share of ${kind.kind}`]),
  labelledColumn('cold', 'Cold', (kind) => [ratioOf(kind, 'cold'), `Cold share of ${kind.kind}`]),
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

import type { Unmovable } from '../../../api/_generated/schema'
import { formatBytes, formatCount } from '../../../lib/units/units'
import { Nothing } from '../../../ui/states/Nothing'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { amountColumn } from '../../../ui/tables/figureColumn'

const unknown = <Nothing status="not_supported" reason="The kernel does not say." />

const columns: Column<Unmovable>[] = [
  { key: 'node', header: 'Node', cell: (item) => `node ${item.node}` },
  amountColumn('hugetlb', 'hugetlb', (item) => item.hugetlb_bytes, formatBytes, { unit: 'bytes', absent: unknown }),
  amountColumn('mlocked', 'Locked (mlock)', (item) => item.mlocked_bytes, formatBytes, {
    unit: 'bytes',
    absent: unknown,
  }),
  amountColumn('pinned', 'Pinned pages', (item) => item.pinned_pages, formatCount, { absent: unknown }),
]

/** Memory that no tier move can take away, by node. */
export function UnmovableTable({ nodes }: { nodes: Unmovable[] | undefined }) {
  return (
    <DataTable
      label="Unmovable memory"
      columns={columns}
      rows={nodes}
      rowKey={(item) => String(item.node)}
      skeletonRows={2}
      empty={{ title: 'Not reported', next: 'Agents send it with the inventory; check that this one is current.' }}
    />
  )
}

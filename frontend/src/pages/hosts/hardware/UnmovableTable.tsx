import type { Unmovable } from '../../../api/_generated/schema'
import { formatBytes, formatCount } from '../../../lib/units/units'
import { Nothing } from '../../../ui/states/Nothing'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'

const unknown = <Nothing status="not_supported" reason="The kernel does not say." />

const columns: Column<Unmovable>[] = [
  { key: 'node', header: 'Node', cell: (item) => `node ${item.node}` },
  {
    key: 'hugetlb',
    header: 'hugetlb',
    value: (item) => ({ amount: item.hugetlb_bytes, unit: 'bytes' }),
    numeric: true,
    cell: (item) => (item.hugetlb_bytes === null ? unknown : formatBytes(item.hugetlb_bytes)),
  },
  {
    key: 'mlocked',
    header: 'Locked (mlock)',
    value: (item) => ({ amount: item.mlocked_bytes, unit: 'bytes' }),
    numeric: true,
    cell: (item) => (item.mlocked_bytes === null ? unknown : formatBytes(item.mlocked_bytes)),
  },
  {
    key: 'pinned',
    header: 'Pinned pages',
    value: (item) => item.pinned_pages,
    numeric: true,
    cell: (item) => (item.pinned_pages === null ? unknown : formatCount(item.pinned_pages)),
  },
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

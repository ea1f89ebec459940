import type { SelectedMapping } from '../../../lib/heat/heatSelection'
import { formatBytes } from '../../../lib/units/units'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'

const columns: Column<SelectedMapping>[] = [
  { key: 'kind', header: 'Kind', cell: (mapping) => mapping.kind },
  { key: 'mapping', header: 'Mapping', cell: (mapping) => <span className="ts-mono">{mapping.mapping}</span> },
  {
    key: 'offset',
    header: 'Offsets',
    numeric: true,
    cell: (mapping) => `${formatBytes(mapping.fromBytes)} – ${formatBytes(mapping.toBytes)}`,
  },
]

const mostRows = 40

/** The mappings that a selection touches. */
export function MappingList({ mappings }: { mappings: SelectedMapping[] }) {
  return (
    <DataTable
      label="Mappings in the selection"
      columns={columns}
      rows={mappings.slice(0, mostRows)}
      rowKey={(mapping) => `${mapping.kind}-${mapping.mapping}`}
    />
  )
}

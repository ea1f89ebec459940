import type { ComponentStatus } from '../../api/_generated/schema'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag, type Tone } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'

const tones: Record<ComponentStatus['status'], Tone> = {
  healthy: 'good',
  degraded: 'warning',
  down: 'critical',
  absent: 'neutral',
  unknown: 'neutral',
}

const columns: Column<ComponentStatus>[] = [
  { key: 'name', header: 'Component', cell: (part) => <strong>{part.name}</strong> },
  { key: 'status', header: 'Health', cell: (part) => <ToneTag tone={tones[part.status]} label={part.status} /> },
  { key: 'detail', header: 'Detail', cell: (part) => part.detail },
  {
    key: 'since',
    header: 'Since',
    cell: (part) => (part.since === null ? 'unknown' : <Timestamp at={part.since} />),
  },
]

/** The parts of the installation and how they are. */
export function ComponentsTable({ components }: { components: ComponentStatus[] | undefined }) {
  return (
    <DataTable label="Components" columns={columns} rows={components} rowKey={(part) => part.name} skeletonRows={5} />
  )
}

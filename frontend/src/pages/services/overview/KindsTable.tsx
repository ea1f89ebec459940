import type { ClassFigures, Figure, KindHeat } from '../../../api/_generated/schema'
import { FigureText } from '../../../ui/figures/FigureText'
import { HeatBar } from '../../../ui/figures/HeatBar'
import { EmptyState } from '../../../ui/states/EmptyState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'

function ratioOf(kind: KindHeat, name: ClassFigures['heat_class']): Figure {
  const found = kind.classes.find((part) => part.heat_class === name)
  return (
    found?.ratio ?? {
      ...kind.resident_bytes,
      status: 'not_supported',
      value: null,
      interval: null,
      reason: 'This scheme has no such class.',
    }
  )
}

const columns: Column<KindHeat>[] = [
  { key: 'kind', header: 'Kind', cell: (kind) => <strong>{kind.kind}</strong> },
  {
    key: 'resident',
    header: 'Resident',
    numeric: true,
    cell: (kind) => <FigureText figure={kind.resident_bytes} label={`Resident ${kind.kind} memory`} />,
  },
  {
    key: 'bar',
    header: 'Hot · warm · cold',
    name: 'Warm',
    value: (kind) => ratioOf(kind, 'warm'),
    cell: (kind) => <HeatBar hot={ratioOf(kind, 'hot')} warm={ratioOf(kind, 'warm')} cold={ratioOf(kind, 'cold')} />,
  },
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
      empty={<EmptyState title="No kinds in this time range" next="Widen the time range." />}
    />
  )
}

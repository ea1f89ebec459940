import type { CollectorInfo } from '../../api/_generated/schema'
import { DataTable, type Column } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { FigureText } from '../../ui/FigureText'
import { Prose } from '../../ui/Prose'
import { ToneTag } from '../../ui/ToneTag'

const columns: Column<CollectorInfo>[] = [
  { key: 'name', header: 'Collector', cell: (collector) => <span className="ts-mono">{collector.name}</span> },
  {
    key: 'state',
    header: 'State',
    cell: (collector) => (
      <ToneTag tone={collector.active ? 'good' : 'neutral'} label={collector.active ? 'on' : 'off'} />
    ),
  },
  { key: 'reason', header: 'Why off', cell: (collector) => <Prose text={collector.reason ?? ''} /> },
  { key: 'hint', header: 'What would turn it on', cell: (collector) => <Prose text={collector.enable_hint ?? ''} /> },
  { key: 'granularity', header: 'Granularity', cell: (collector) => collector.granularity ?? '' },
  { key: 'privilege', header: 'Privilege', cell: (collector) => collector.privilege ?? 'none' },
  {
    key: 'cpu',
    header: 'CPU',
    numeric: true,
    cell: (collector) => <FigureText figure={collector.cpu_ratio} label={`CPU share of ${collector.name}`} />,
  },
]

/** What the agent collects here, at which cost, and why the rest is off. */
export function CollectorsTable({ collectors }: { collectors: CollectorInfo[] | undefined }) {
  const ranked =
    collectors === undefined ? undefined : [...collectors].sort((a, b) => Number(b.active) - Number(a.active))
  return (
    <DataTable
      label="Collectors"
      columns={columns}
      rows={ranked}
      rowKey={(collector) => collector.name}
      empty={
        <EmptyState
          title="No collectors reported"
          next="The agent sends them with its inventory; check that it is up to date."
        />
      }
    />
  )
}

import type { HeatIndex, MovingLoss } from '../../../api/_generated/schema'
import { FigureText } from '../../../ui/figures/FigureText'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'

const columns: Column<MovingLoss>[] = [
  { key: 'kind', header: 'All of', cell: (row) => <strong>{row.kind}</strong> },
  labelledColumn('share', 'Accesses', (row) => [row.share_of_accesses, `Share of accesses to ${row.kind}`]),
  labelledColumn('loss', 'Expected loss', (row) => [row.loss, `Loss of moving all ${row.kind} to slow memory`]),
]

/** What heat alone tells: how much denser anon is accessed than file, and what moving a whole kind would cost. */
export function HeatIndexPanel({ index }: { index: HeatIndex | undefined }) {
  return (
    <Panel
      title="From heat alone"
      hint={
        index === undefined ? (
          'needs no throughput'
        ) : (
          <>
            needs no throughput · log2 density of anon over file:{' '}
            <FigureText figure={index.log2_density_anon_file} label="Density of anon over file, log2" bare />
          </>
        )
      }
      flush
      testId="heat-index"
    >
      <DataTable
        label="Cost of moving a whole kind to slow memory"
        columns={columns}
        rows={index?.moving}
        rowKey={(row) => row.kind}
        skeletonRows={2}
        empty={{
          title: 'Unknown from heat as well',
          next: index?.log2_density_anon_file.reason ?? 'Accesses by page kind are needed.',
        }}
      />
    </Panel>
  )
}

import type { Sampling, TouchedWindow } from '../../../api/_generated/schema'
import { Stat } from '../../../ui/figures/Stat'
import { StatStrip } from '../../../ui/figures/StatStrip'
import { Panel } from '../../../ui/layout/Panel'
import { GradeTag } from '../../../ui/provenance/GradeTag'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'

const columns: Column<TouchedWindow>[] = [
  {
    key: 'window',
    header: 'Within',
    cell: (window) => `${window.intervals} ${window.intervals === 1 ? 'interval' : 'intervals'}`,
  },
  labelledColumn('coverage', 'Load traffic covered', (window) => [
    window.coverage,
    `Coverage within ${window.intervals} intervals`,
  ]),
  labelledColumn('touched', 'Touched, unseen pages included', (window) => [
    window.touched_bytes,
    `Memory touched within ${window.intervals} intervals`,
  ]),
  {
    key: 'grade',
    header: 'Claim',
    cell: (window) => (window.touched_bytes.status === 'ok' ? <GradeTag grade={window.touched_bytes.grade} /> : null),
  },
]

/** What hardware samples tell: loads and stores apart, coverage, and the memory touched by pages without a sample. */
export function SamplingPanel({ sampling }: { sampling: Sampling }) {
  return (
    <Panel
      title="Hardware samples"
      hint="the newest 10 intervals; loads and stores are never added"
      flush
      testId="sampling"
    >
      <StatStrip label="Samples" columns={4}>
        <Stat label="Load samples" name="Sampled loads" figure={sampling.loads} />
        <Stat label="Store samples" name="Sampled stores" figure={sampling.stores} />
        <Stat label="Loads" name="Loads behind the samples" figure={sampling.load_events} />
        <Stat label="Stores" name="Stores behind the samples" figure={sampling.store_events} />
      </StatStrip>
      <DataTable
        label="Memory touched"
        columns={columns}
        rows={sampling.windows}
        rowKey={(window) => String(window.intervals)}
        empty={{ title: 'No complete window', next: 'The newest interval was missed; wait for more.' }}
      />
    </Panel>
  )
}

import type { NodeBench } from '../../../api/_generated/schema'
import { benchPath } from '../../../charts/loadedLatency/figure'
import { benchHow, benchName } from '../../../lib/fleet/bench'
import { formatQuantity } from '../../../lib/units/units'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Timestamp } from '../../../ui/text/Timestamp'
import classes from './BenchTable.module.css'

interface Row {
  key: string
  bench: NodeBench
  figure: NodeBench['figures'][number]
}

const columns: Column<Row>[] = [
  { key: 'way', header: 'From CPUs to memory', cell: ({ bench }) => benchPath(bench) },
  { key: 'name', header: 'Figure', cell: ({ figure }) => benchName(figure.name) },
  { key: 'how', header: 'How', cell: ({ figure }) => benchHow(figure) },
  {
    key: 'median',
    header: 'Median',
    value: ({ figure }) => ({ amount: figure.median, unit: figure.unit }),
    numeric: true,
    cell: ({ figure }) => <strong>{formatQuantity(figure.median, figure.unit)}</strong>,
  },
  {
    key: 'spread',
    header: 'p10 – p90',
    numeric: true,
    cell: ({ figure }) => `${formatQuantity(figure.p10, figure.unit)} – ${formatQuantity(figure.p90, figure.unit)}`,
  },
  { key: 'n', header: 'Repetitions', numeric: true, cell: ({ figure }) => figure.repetitions },
  {
    key: 'state',
    header: 'State',
    cell: ({ figure }) =>
      figure.disturbed ? (
        <ToneTag tone="warning" label="disturbed" meaning="High spread: other load was running. Measure again." />
      ) : (
        <ToneTag tone="good" label="quiet" meaning="The repetitions agree." />
      ),
  },
]

/** Latency and bandwidth of each node's memory as measured on the host, with what could not be measured. */
export function BenchTable({ benches }: { benches: NodeBench[] | undefined }) {
  const rows = benches?.flatMap((bench) =>
    bench.figures.map((figure, index): Row => ({
      key: `${bench.cpu_node}-${bench.memory_node}-${index}`,
      bench,
      figure,
    })),
  )
  return (
    <>
      <DataTable
        label="Measured memory tiers"
        columns={columns}
        rows={rows}
        rowKey={(row) => row.key}
        empty={{
          title: 'Not measured on this host',
          next: 'Run `tierscope-agent bench` on the host: latency and bandwidth of each node, bounded in time and memory.',
        }}
      />
      <ul className={classes.notes} aria-label="How it was measured">
        {benches?.map((bench) => (
          <li key={benchPath(bench)}>
            {benchPath(bench)}: measured <Timestamp at={bench.measured_at} />
            {bench.method === '' ? '' : `, ${bench.method}`}
            {bench.skipped.map((skip) => (
              <span key={skip.name}>
                ; not measured: {benchName(skip.name)}, because {skip.reason}
              </span>
            ))}
          </li>
        ))}
      </ul>
    </>
  )
}

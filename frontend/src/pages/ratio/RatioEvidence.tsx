import type { Ratio } from '../../api/_generated/schema'
import { readableId } from '../../lib/text/names'
import { formatBytes, formatCount, formatQuantity, formatRatio, threeDigits } from '../../lib/units/units'
import { ProvenanceChip } from '../../ui/provenance/ProvenanceChip'
import { EmptyState } from '../../ui/states/EmptyState'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn } from '../../ui/tables/figureColumn'
import { Prose } from '../../ui/text/Prose'
import classes from './RatioView.module.css'

type Named = Ratio['evidence'][number]
type Assumption = Ratio['assumptions'][number]
type Swing = Ratio['sensitivity'][number]
type Subtracted = Ratio['subtracted'][number]

const figureColumns: Column<Named>[] = [
  { key: 'metric', header: 'Figure', cell: (row) => readableId(row.metric) },
  labelledColumn('value', 'Value', (row) => [row.figure, readableId(row.metric)]),
  {
    key: 'from',
    header: 'From',
    cell: (row) => <ProvenanceChip figure={row.figure} label={readableId(row.metric)} />,
  },
]

const assumptionColumns: Column<Assumption>[] = [
  { key: 'name', header: 'Assumption', cell: (row) => readableId(row.name) },
  {
    key: 'value',
    header: 'Value',
    numeric: true,
    value: (row) => (typeof row.value === 'number' ? { amount: row.value, unit: row.unit } : row.value),
    cell: (row) => (typeof row.value === 'number' ? formatQuantity(row.value, row.unit) : row.value),
  },
  { key: 'grounding', header: 'Grounding', cell: (row) => row.grounding },
  {
    key: 'why',
    header: 'Why',
    cell: (row) => (
      <span className={classes.why}>
        <Prose text={row.why} />
      </span>
    ),
  },
]

const chosenAt = (value: number, name: string | null) => (
  <>
    <strong>{name ?? 'all DRAM'}</strong> at {threeDigits(value)}
  </>
)

const swingColumns: Column<Swing>[] = [
  { key: 'name', header: 'Sensitivity', cell: (row) => readableId(row.name) },
  { key: 'low', header: 'Safe at its low end', cell: (row) => chosenAt(row.low, row.chosen_low) },
  { key: 'high', header: 'At its high end', cell: (row) => chosenAt(row.high, row.chosen_high) },
]

const subtractedColumns: Column<Subtracted>[] = [
  { key: 'what', header: 'Memory that cannot move', cell: (row) => readableId(row.what) },
  {
    key: 'bytes',
    header: 'Bytes',
    name: 'Size',
    value: (row) => ({ amount: row.bytes, unit: 'bytes' }),
    numeric: true,
    cell: (row) => (row.bytes === null ? <Nothing status="not_collected" reason={row.why} /> : formatBytes(row.bytes)),
  },
  {
    key: 'why',
    header: 'Why',
    cell: (row) => (
      <span className={classes.why}>
        <Prose text={row.why} />
      </span>
    ),
  },
]

/** The figures that the advice was made from, and what was taken off before. */
export function EvidenceSection({ ratio }: { ratio: Ratio }) {
  return (
    <>
      <DataTable
        label="Evidence"
        columns={figureColumns}
        rows={ratio.evidence}
        rowKey={(row) => row.metric}
        empty={{ title: 'No evidence', next: ratio.refused[0] ?? 'Nothing was measured.' }}
      />
      {ratio.subtracted.length > 0 && (
        <DataTable
          label="Memory that cannot move"
          columns={subtractedColumns}
          rows={ratio.subtracted}
          rowKey={(row) => row.what}
        />
      )}
    </>
  )
}

/** How a share of accesses on slow memory becomes a loss, with the numbers in force. */
export function FormulaSection({ ratio }: { ratio: Ratio }) {
  const { posterior, interleave } = ratio
  if (posterior === null) return <EmptyState title="No formula was applied" next={ratio.refused[0] ?? ratio.sentence} />
  const spread = Math.sqrt(posterior.variance)
  return (
    <>
      <pre className={classes.formula}>{posterior.formula}</pre>
      <p className={classes.text}>
        Posterior at {formatRatio(posterior.at_share)} of accesses on slow memory: ln a has the mean{' '}
        {threeDigits(posterior.mean_ln_a)} and the standard deviation {threeDigits(spread)}, so a is about{' '}
        {threeDigits(Math.exp(posterior.mean_ln_a))}; exponent {threeDigits(posterior.exponent)}, the mean of 1 (
        {formatRatio(posterior.linear_weight)}) and 1.5; slow memory takes {threeDigits(posterior.rho)} times the
        latency of DRAM. {measured(posterior.points_used)}
      </p>
      {interleave !== null && (
        <p className={classes.text}>
          Interleaving at {interleave.dram_weight}:{interleave.slow_weight} would suit the bandwidth of both tiers: at
          most {threeDigits(interleave.gain_bound)} times the throughput of a service that bandwidth limits.
        </p>
      )}
    </>
  )
}

function measured(points: number): string {
  if (points === 0) return 'Based on published measurements only; your own would narrow it.'
  return `Narrowed by ${formatCount(points)} of your own ${points === 1 ? 'measurement' : 'measurements'}.`
}

/** What was taken to be so, and which ratio would be safe if it were not. */
export function AssumptionsSection({ ratio }: { ratio: Ratio }) {
  return (
    <>
      <DataTable
        label="Assumptions"
        columns={assumptionColumns}
        rows={ratio.assumptions}
        rowKey={(row) => row.name}
        empty={{ title: 'No assumptions', next: 'Everything was measured.' }}
      />
      {ratio.sensitivity.length > 0 && (
        <DataTable
          label="What would change"
          columns={swingColumns}
          rows={ratio.sensitivity}
          rowKey={(row) => row.name}
        />
      )}
    </>
  )
}

/** What limits the service, and how that is known. */
export function ClassSection({ ratio }: { ratio: Ratio }) {
  const { service_class: service } = ratio
  return (
    <>
      <p className={classes.text}>
        <Prose text={service.why} />
        {service.grade !== null && ` Grade: ${service.grade}.`}
      </p>
      {service.microsecond_service === true && (
        <p className={classes.text}>Its p99 is below a millisecond: keep it in DRAM unless the hot data fits.</p>
      )}
      <DataTable
        label="Evidence for the class"
        columns={figureColumns}
        rows={service.figures}
        rowKey={(row) => row.metric}
        empty={{ title: 'No evidence for the class', next: service.why }}
      />
    </>
  )
}

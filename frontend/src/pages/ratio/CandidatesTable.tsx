import type { Ratio, RatioCandidate } from '../../api/_generated/schema'
import { formatBytes, formatRatio } from '../../lib/units/units'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import classes from './RatioView.module.css'

function targetTag(row: RatioCandidate, ratio: Ratio | undefined) {
  if (row.name === ratio?.chosen?.name) return <ToneTag tone="good" label="advised" />
  const likely = row.name === ratio?.range?.likely ? ', most likely' : ''
  if (row.kept) return <ToneTag tone="good" label={`keeps it${likely}`} />
  if (ratio?.range && row.dram_ratio >= ratio.range.plausible_dram_ratio) {
    const expected = row.loss_median.value
    const test = expected !== null && expected > ratio.loss_target ? 'expected to miss it' : `needs a test${likely}`
    return <ToneTag tone="info" label={test} />
  }
  return <ToneTag tone="warning" label="no" />
}

function columnsFor(ratio: Ratio | undefined): Column<RatioCandidate>[] {
  return [
    { key: 'name', header: 'Ratio', cell: (row) => <strong>{row.name}</strong> },
    {
      key: 'dram',
      header: 'DRAM',
      value: (row) =>
        row.dram_bytes === null ? { amount: row.dram_ratio, unit: 'ratio' } : { amount: row.dram_bytes, unit: 'bytes' },
      numeric: true,
      cell: (row) =>
        row.dram_bytes === null ? (
          formatRatio(row.dram_ratio)
        ) : (
          <span title={formatRatio(row.dram_ratio)}>{formatBytes(row.dram_bytes)}</span>
        ),
    },
    labelledColumn('slow', 'On slow', (row) => [row.share_on_slow, `Accesses on slow memory at ${row.name}`]),
    labelledColumn('median', 'Loss', (row) => [row.loss_median, `Median loss at ${row.name}`]),
    labelledColumn('upper', 'At most', (row) => [row.loss_upper, `Upper loss at ${row.name}`]),
    {
      key: 'bandwidth',
      header: 'Bandwidth',
      cell: (row) =>
        row.bandwidth_ok === null ? (
          <Nothing status="not_collected" reason="Bandwidth of the tiers or of the service was not measured." />
        ) : (
          <ToneTag tone={row.bandwidth_ok ? 'good' : 'warning'} label={row.bandwidth_ok ? 'enough' : 'too little'} />
        ),
    },
    {
      key: 'kept',
      header: 'Target',
      cell: (row) => targetTag(row, ratio),
    },
  ]
}

/** Every ratio with what it would cost, and why it does not keep the target where it does not. */
export function CandidatesTable({ ratio }: { ratio: Ratio | undefined }) {
  const dropped = ratio?.candidates.filter(({ why_not: why }) => why.length > 0) ?? []
  return (
    <>
      <DataTable
        label="Ratios evaluated"
        columns={columnsFor(ratio)}
        rows={ratio?.candidates}
        rowKey={(row) => row.name}
        empty={{ title: 'No ratios evaluated', next: ratio?.refused[0] ?? 'There are no page samples yet.' }}
      />
      {dropped.length > 0 && (
        <ul className={classes.dropped} aria-label="Why ratios may miss the target">
          {dropped.map(({ name, why_not: why }) => (
            <li key={name}>
              <strong>{name}</strong>: <Prose text={why.join('; ')} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

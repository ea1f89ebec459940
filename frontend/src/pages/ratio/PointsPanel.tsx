import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Ratio, SlowdownPointItem } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { removeSlowdownPoint, slowdownPointsQuery } from '../../api/queries/ratio'
import { formatRatio } from '../../lib/units/units'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import { PointForm } from './PointForm'
import classes from './RatioView.module.css'
import { LoginFirst } from '../shell/access/LoginFirst'

const sources = { ab_test: 'A/B test', prediction: 'prediction' } as const

function usedText(point: Ratio['points'][number] | undefined): string {
  if (point === undefined) return 'pending'
  return point.used ? 'used' : 'not used'
}

function Used({ point }: { point: Ratio['points'][number] | undefined }) {
  const label = usedText(point)
  if (point === undefined) return <ToneTag tone="neutral" label={label} />
  return point.used ? (
    <ToneTag tone="good" label={label} />
  ) : (
    <ToneTag tone="neutral" label={label} meaning={point.why_not ?? 'Not used in the formula.'} />
  )
}

function columnsFor(
  used: Ratio['points'],
  pending: boolean,
  onRemove: (id: string) => void,
): Column<SlowdownPointItem>[] {
  return [
    { key: 'at', header: 'Measured', cell: (row) => <Timestamp at={row.measured_at} /> },
    { key: 'source', header: 'By', cell: (row) => sources[row.source] },
    amountColumn('share', 'On slow memory', (row) => row.share_on_slow, formatRatio, { unit: 'ratio' }),
    {
      key: 'loss',
      header: 'Loss',
      value: (row) => ({ amount: row.loss, unit: 'ratio' }),
      numeric: true,
      cell: (row) => `${formatRatio(row.loss)} ± ${formatRatio(row.loss_standard_error)}`,
    },
    {
      key: 'used',
      header: 'In the advice',
      cell: (row) => <Used point={used.find(({ id }) => id === row.id)} />,
      value: (row) => usedText(used.find(({ id }) => id === row.id)),
    },
    { key: 'author', header: 'Author', cell: (row) => row.author },
    { key: 'note', header: 'Note', cell: (row) => <span className={classes.why}>{row.note}</span> },
    {
      key: 'remove',
      header: 'Remove',
      cell: (row) => (
        <LoginFirst may="write:advice" to="delete it">
          <ConfirmDelete
            compact
            what={`the measurement of ${formatRatio(row.loss)}`}
            consequence="The advice is made without it from now on."
            pending={pending}
            onConfirm={() => onRemove(row.id)}
          />
        </LoginFirst>
      ),
    },
  ]
}

/** The owner's own measurements of the slowdown: the one input that narrows the advice most. */
export function PointsPanel({ serviceId, ratio }: { serviceId: string; ratio: Ratio | undefined }) {
  const queries = useQueryClient()
  const query = useQuery(slowdownPointsQuery(serviceId))
  const removal = useMutation(removeSlowdownPoint(queries, serviceId))
  const load = loadStateOf(query)
  return (
    <Panel
      title="Your own measurements"
      hint="loss of throughput at a known share of accesses on slow memory; each narrows the advice"
      flush
      testId="slowdown-points"
    >
      <DataTable
        load={load}
        label="Measurements of the slowdown"
        columns={columnsFor(ratio?.points ?? [], removal.isPending, (id) => removal.mutate(id))}
        rows={query.data}
        rowKey={(row) => row.id}
        skeletonRows={2}
        empty={{
          title: 'No measurements yet',
          next: 'Run the service on two groups of hosts with different DRAM, and enter the loss below.',
        }}
      />
      {removal.error !== null && (
        <p className={classes.fault} role="alert">
          <Prose text={problemText(removal.error)} />
        </p>
      )}
      <LoginFirst may="write:advice" to="add your own">
        <PointForm serviceId={serviceId} />
      </LoginFirst>
    </Panel>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { HotSetOverlap, KindStability, Stability } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { stabilityQuery } from '../../../api/queries/heat/stability'
import type { ChartMark } from '../../../charts/eventMarks'
import { LinesChart } from '../../../charts/lines/LinesChart'
import { kindColour } from '../../../lib/palette'
import { formatDuration } from '../../../lib/units/time'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { Panel } from '../../../ui/layout/Panel'
import { Prose } from '../../../ui/text/Prose'
import { Term } from '../../../ui/text/Term'
import { Timestamp } from '../../../ui/text/Timestamp'
import { ToneTag, type Tone } from '../../../ui/tags/ToneTag'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { NotesList } from '../../../ui/text/NotesList'
import { Columns } from '../../../ui/layout/Columns'
import { Stack } from '../../../ui/layout/Stack'

const hotSetTones: Record<NonNullable<HotSetOverlap['state']>, Tone> = {
  stable: 'good',
  moving: 'info',
  volatile: 'warning',
}

function StableTag({ stable }: { stable: boolean | null }) {
  if (stable === null) return <ToneTag tone="neutral" label="unknown" />
  return stable ? (
    <ToneTag tone="good" label="stable" meaning="The share moves by less than 5 points a day." />
  ) : (
    <ToneTag tone="warning" label="moving" meaning="The share moves by 5 points a day or more." />
  )
}

const kindColumns: Column<KindStability>[] = [
  { key: 'kind', header: 'Kind', cell: (row) => <strong>{row.kind}</strong> },
  labelledColumn('slope', 'Trend', (row) => [row.slope_per_hour, `Trend of the share of ${row.kind}`]),
  labelledColumn('iqr', 'Spread (IQR)', (row) => [row.iqr, `Spread of the share of ${row.kind}`]),
  {
    key: 'state',
    header: 'State',
    cell: (row) => <StableTag stable={row.stable} />,
    value: (row) => (row.stable === null ? 'unknown' : row.stable ? 'stable' : 'moving'),
  },
]

const overlapColumns: Column<HotSetOverlap>[] = [
  {
    key: 'lag',
    header: 'Lag',
    cell: (row) => formatDuration(row.lag_minutes * 60),
    value: (row) => ({ amount: row.lag_minutes, unit: 'minutes' }),
  },
  labelledColumn('jaccard', 'Overlap', (row) => [row.jaccard, `Overlap of hot sets ${row.lag_minutes} minutes apart`]),
  {
    key: 'state',
    header: 'State',
    cell: (row) =>
      row.state === null ? (
        <ToneTag tone="neutral" label="unknown" />
      ) : (
        <ToneTag tone={hotSetTones[row.state]} label={row.state} />
      ),
  },
]

function withWarmUp(stability: Stability | undefined, marks: ChartMark[]): ChartMark[] {
  const at = stability?.warm_up_end.at ?? null
  if (at === null) return marks
  return [...marks, { atSeconds: Date.parse(at) / 1000, text: 'warm since', kind: 'warm_up' }]
}

interface StabilitySectionProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

/** How steady the mix of memory and the hot set are: advice from a service that still changes would not last. */
export function StabilitySection({ serviceId, marks, comparison }: StabilitySectionProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(stabilityQuery(serviceId, range))
  const other = askOther(comparison, serviceId, range)
  const otherQuery = useQuery({ ...stabilityQuery(other.id, other.range), ...other.options })
  const ghost = useGhost(comparison, otherQuery, seriesOf)
  const stability = query.data
  const lines = useMemo(
    () => (stability?.series ?? []).map((line) => ({ ...line, colour: kindColour(line.key.replace('_ratio', '')) })),
    [stability],
  )
  const allMarks = useMemo(() => withWarmUp(stability, marks), [stability, marks])
  return (
    <Stack testId="stability">
      <LinesChart
        name="stability"
        title="Share of memory by kind"
        label="Share of memory by page kind over time"
        hint={
          stability === undefined ? (
            '\u00a0'
          ) : (
            <>
              {stability.warm_up_end.at !== null && (
                <>
                  ◑ warm since <Timestamp at={stability.warm_up_end.at} />.{' '}
                </>
              )}
              <Prose text={stability.warm_up_end.why} />
            </>
          )
        }
        load={loadStateOf(query)}
        axis={stability?.axis}
        lines={lines}
        ghost={ghost}
        marks={allMarks}
        height={230}
        evidence={stability?.kinds[0]?.iqr}
        onTimeZoom={zoomTo}
        emptyText={{
          title: 'No shares by kind in this time range',
          next: stability?.missing?.reason ?? 'Widen the time range.',
        }}
      />
      <Columns>
        <Panel title="Anon/file mix stability" flush>
          <DataTable
            label="Mix stability by page kind"
            columns={kindColumns}
            rows={stability?.kinds}
            rowKey={(row) => row.kind}
            skeletonRows={3}
            empty={{ title: 'Unknown', next: stability?.missing?.reason ?? 'Widen the time range.' }}
          />
        </Panel>
        <Panel title={<Term name="jaccard">Hot-set overlap</Term>} flush>
          <DataTable
            label="Hot-set overlap by lag"
            columns={overlapColumns}
            rows={stability?.hot_set}
            rowKey={(row) => String(row.lag_minutes)}
            skeletonRows={3}
            empty={{
              title: 'No hot sets to compare',
              next: 'Page-level heat is needed at two moments: widen the time range.',
            }}
          />
        </Panel>
      </Columns>
      <NotesList notes={stability?.notes} />
    </Stack>
  )
}

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Comparison, Objectives, Series } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { objectivesQuery } from '../../../api/queries/heat/revisit'
import type { ChartMark } from '../../../charts/eventMarks'
import { LinesChart } from '../../../charts/lines/LinesChart'
import { formatRatio, threeDigits } from '../../../lib/units/units'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { amountColumn, labelledColumn } from '../../../ui/tables/figureColumn'
import { Panel } from '../../../ui/layout/Panel'
import { Prose } from '../../../ui/text/Prose'
import { Stat } from '../../../ui/figures/Stat'
import { StatStrip } from '../../../ui/figures/StatStrip'
import { Term } from '../../../ui/text/Term'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { narrowGhost } from '../../../charts/ghost'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { NotesList } from '../../../ui/text/NotesList'
import { Columns } from '../../../ui/layout/Columns'
import { Stack } from '../../../ui/layout/Stack'

const comparisonColumns: Column<Comparison>[] = [
  { key: 'point', header: 'Point', cell: (row) => <Prose text={row.point} /> },
  amountColumn('published', 'Published', (row) => row.published, formatRatio, { unit: 'ratio' }),
  labelledColumn('measured', 'Measured here', (row) => [row.measured, `${row.point}, measured here`]),
  { key: 'source', header: 'Source', cell: (row) => row.source },
]

function TargetTag({ meets }: { meets: boolean | null }) {
  if (meets === null) return <ToneTag tone="neutral" label="target: unknown" />
  return meets ? (
    <ToneTag tone="good" label="meets the target" />
  ) : (
    <ToneTag
      tone="warning"
      label="misses the target"
      meaning="Memory classified as cold is accessed again too often."
    />
  )
}

interface ObjectivesSectionProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

function linesWith(objectives: Objectives | undefined, start: string): Series[] {
  return objectives?.series.filter((line) => line.key.startsWith(start)) ?? []
}

function keysOf(lines: Series[]): string[] {
  return lines.map(({ key }) => key)
}

/** Service levels for cold memory: how often it comes back, and what share of accesses and bytes slow memory has. */
export function ObjectivesSection({ serviceId, marks, comparison }: ObjectivesSectionProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(objectivesQuery(serviceId, range))
  const other = askOther(comparison, serviceId, range)
  const otherQuery = useQuery({ ...objectivesQuery(other.id, other.range), ...other.options })
  const ghost = useGhost(comparison, otherQuery, seriesOf)
  const objectives = query.data
  const load = loadStateOf(query)
  const rate = useMemo(() => linesWith(objectives, 'promotion_rate'), [objectives])
  const shares = useMemo(() => linesWith(objectives, 'slow_'), [objectives])
  const rateGhost = useMemo(() => narrowGhost(ghost, keysOf(rate)), [ghost, rate])
  const sharesGhost = useMemo(() => narrowGhost(ghost, keysOf(shares)), [ghost, shares])
  const target = objectives?.target_per_min
  const service = objectives?.service_class
  return (
    <Stack testId="objectives">
      <StatStrip label="Service levels for cold memory" columns={3}>
        <Stat
          label={<Term name="promotionRate">Promotion rate</Term>}
          name="Promotions per working set and minute"
          figure={objectives?.promotion_rate}
        />
        <Stat
          label={<Term name="slowAccess">Slow accesses</Term>}
          name="Share of accesses to slow memory"
          figure={objectives?.slow_access_ratio}
        />
        <Stat
          label={<Term name="slowResidency">Slow residency</Term>}
          name="Share of the working set on slow memory"
          figure={objectives?.slow_residency_ratio}
        />
      </StatStrip>
      <Columns>
        <LinesChart
          name="promotion-rate"
          title="Promotion rate"
          label="Promotions per working set and minute over time"
          hint={
            objectives === undefined || target === undefined ? (
              '\u00a0'
            ) : (
              <>
                target: at most {threeDigits(target)} per working set and minute{' '}
                <TargetTag meets={objectives.meets_target} />
              </>
            )
          }
          load={load}
          axis={objectives?.axis}
          lines={rate}
          ghost={rateGhost}
          limit={target === undefined ? undefined : { value: target, label: 'target' }}
          marks={marks}
          height={200}
          evidence={objectives?.promotion_rate}
          onTimeZoom={zoomTo}
          emptyText={{
            title: 'No promotion rate in this time range',
            next: objectives?.promotion_rate.reason ?? 'Reuse intervals of 120 s or longer are needed.',
          }}
        />
        <LinesChart
          name="slow-shares"
          title="Slow memory’s share"
          label="Share of accesses and of the working set on slow memory over time"
          hint={
            service === undefined ? (
              '\u00a0'
            ) : (
              <>
                {service.name === null ? 'Service class unknown: ' : `Service class ${service.name}: `}
                <Prose text={service.why} />
              </>
            )
          }
          load={load}
          axis={objectives?.axis}
          lines={shares}
          ghost={sharesGhost}
          marks={marks}
          height={200}
          evidence={objectives?.slow_access_ratio}
          onTimeZoom={zoomTo}
          emptyText={{
            title: 'No shares in this time range',
            next: objectives?.slow_access_ratio.reason ?? 'Heat by tier is needed: see the Hosts tab.',
          }}
        />
      </Columns>
      {objectives !== undefined && objectives.comparisons.length > 0 && (
        <Panel
          title="Compared with published results"
          hint="other services on other machines: orientation, not a target"
          flush
        >
          <DataTable
            label="Published results"
            columns={comparisonColumns}
            rows={objectives.comparisons}
            rowKey={(row) => `${row.source}-${row.point}`}
          />
        </Panel>
      )}
      <NotesList notes={objectives?.notes} />
    </Stack>
  )
}

import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { KindDensity, Ratio, Curve } from '../../api/_generated/schema'
import { curveQuery } from '../../api/queries/curve'
import { loadStateOf } from '../../api/queries/base/loadState'
import { ratioQuery } from '../../api/queries/ratio'
import { CurveChart, hasServed } from '../../charts/curve/CurveChart'
import { measuredBy } from '../../lib/units/figure'
import { formatCount, formatRatio } from '../../lib/units/units'
import { pageKinds } from '../../lib/url/urlState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn, labelledColumn } from '../../ui/tables/figureColumn'
import { FigureText } from '../../ui/figures/FigureText'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import { StateNote } from '../../ui/states/StateNote'
import { ToneTag } from '../../ui/tags/ToneTag'
import { askOther, useBeside, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { NotesList } from '../../ui/text/NotesList'
import { Columns } from '../../ui/layout/Columns'
import { Stack } from '../../ui/layout/Stack'
import classes from './overview/OverviewTab.module.css'
import { intervalWords, isVacuous, vacuousWords } from './curveBands'
import { useRatioChoice } from './useRatioChoice'

const route = getRouteApi('/services/$serviceId')

type AtRatio = Curve['at_ratios'][number]

const ratioColumns: Column<AtRatio>[] = [
  { key: 'ratio', header: 'DRAM:CXL', cell: (at) => <strong>{at.ratio}</strong> },
  amountColumn('share', 'DRAM share', (at) => at.dram_ratio, formatRatio, { unit: 'ratio' }),
  labelledColumn('served', 'Served from DRAM', (at) => [at.served, `Accesses served at ${at.ratio}`]),
  {
    key: 'interval',
    header: 'Interval',
    numeric: true,
    value: (at) => intervalWords(at.served.interval),
    cell: (at) => (
      <>
        {intervalWords(at.served.interval)}{' '}
        {isVacuous(at.served.interval) && (
          <ToneTag tone="warning" label="too wide" meaning="Wider than 60 points: it says nearly nothing." />
        )}
      </>
    ),
  },
]

const densityColumns: Column<KindDensity>[] = [
  { key: 'kind', header: 'Kind', cell: (row) => <strong>{row.kind}</strong> },
  labelledColumn('bytes', 'Of memory', (row) => [row.bytes_ratio, `Share of memory that is ${row.kind}`]),
  labelledColumn('accesses', 'Of accesses', (row) => [row.accesses_ratio, `Share of accesses to ${row.kind}`]),
  labelledColumn('density', 'Density', (row) => [row.density, `Access density of ${row.kind}`]),
]

function drawnOf(curve: Curve): Curve | null {
  return hasServed(curve) ? curve : null
}

/** How much of the accesses a smaller DRAM would still serve. */
export function CurveTab({ serviceId, comparison }: { serviceId: string; comparison: TimeComparison | null }) {
  const { kind } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const { choice } = useRatioChoice()
  const query = useQuery(curveQuery(serviceId, kind, range))
  const other = askOther(comparison, serviceId, range)
  const drawn = useQuery(curveQuery(serviceId, kind, other.ownRange))
  const otherQuery = useQuery({ ...curveQuery(other.id, kind, other.range), ...other.options })
  const beside = useBeside(comparison, otherQuery, drawnOf)
  // The advice is drawn upon the curve; without it the curve stands alone.
  const ratio = useQuery(ratioQuery(serviceId, choice, range))
  const curve = query.data
  // Advice is given for all memory: upon one kind's curve it would mark the wrong place.
  const vacuous = curve === undefined ? [] : vacuousWords(curve)
  const advice = kind === undefined ? (ratio.data ?? null) : null
  return (
    <Stack testId="curve">
      {curve?.n_pages !== 0 && <p className={classes.words}>{curve === undefined ? '\u00a0' : curveWords(curve)}</p>}
      {curve !== undefined && curve.missing !== null && curve.curves.length > 0 && (
        <StateNote tone="neutral" testId="curve-missing">
          <p>
            <strong>No hit-ratio curve:</strong> <Prose text={curve.missing.reason ?? 'it needs page samples.'} />
          </p>
        </StateNote>
      )}
      {vacuous.length > 0 && (
        <StateNote tone="warning" testId="curve-vacuous">
          {vacuous.map((words) => (
            <p key={words}>{words}</p>
          ))}
        </StateNote>
      )}
      <CurveChart
        curve={drawn.data}
        advice={advice}
        beside={beside}
        load={loadStateOf(drawn)}
        height={400}
        hint={
          kind !== undefined
            ? `${kind} memory alone; advice is for all memory`
            : ratio.data === undefined
              ? '\u00a0'
              : adviceWords(ratio.data.answer)
        }
        controls={
          <SegmentedControl
            aria-label="Page kind"
            value={kind ?? 'all'}
            onChange={(value) =>
              void navigate({
                search: (before) => ({ ...before, kind: pageKinds.find((name) => name === value) }),
                resetScroll: false,
              })
            }
            data={['all', ...pageKinds]}
          />
        }
      />
      <Columns>
        <Panel title="At common DRAM:CXL ratios" flush>
          <DataTable
            label="Served at the ratios of machines"
            columns={ratioColumns}
            rows={curve?.at_ratios}
            rowKey={(at) => at.ratio}
            empty={{ title: 'No ratios', next: curve?.missing?.reason ?? 'There is no curve.' }}
          />
        </Panel>
        <Panel
          title="Access density by page kind"
          hint={
            curve === undefined ? undefined : (
              <>
                log2 of anon over file:{' '}
                <FigureText figure={curve.log2_density_anon_file} label="Density of anon over file, log2" bare />
              </>
            )
          }
          flush
        >
          <DataTable
            label="Access density by page kind"
            columns={densityColumns}
            rows={curve?.density}
            rowKey={(row) => row.kind}
            skeletonRows={3}
            empty={{ title: 'No densities', next: curve?.missing?.reason ?? 'Accesses were not counted by kind.' }}
          />
        </Panel>
      </Columns>
      <NotesList notes={curve?.notes} />
    </Stack>
  )
}

function adviceWords(answer: Ratio['answer']): string {
  return {
    refused: 'no ratio can be given; the Advice tab shows what changes that',
    all_dram: 'no ratio meets the loss target: all DRAM',
    range: 'the most likely ratio is drawn on it; the Advice tab shows the range',
    ratio: 'the advised ratio is drawn on it',
  }[answer]
}

function sampledWords(ratio: number): string {
  const pages = Math.round(1 / ratio)
  return pages <= 1 ? 'every page' : `1 page in ${formatCount(pages)}`
}

function curveWords(curve: Curve): string {
  const parts = [
    `Measured by ${measuredBy({ ...curve, granularity: 'page' })}`,
    `${formatCount(curve.n_pages)} pages on ${curve.n_hosts} ${curve.n_hosts === 1 ? 'host' : 'hosts'}`,
    curve.n_accesses === null ? null : `${formatCount(curve.n_accesses)} accesses`,
    curve.sampled_ratio === null ? null : sampledWords(curve.sampled_ratio),
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

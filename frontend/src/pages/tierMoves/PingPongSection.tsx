import { useMemo } from 'react'
import type { PingPongHistory, StateSpan } from '../../api/_generated/schema'
import type { ChartMark } from '../../charts/eventMarks'
import { narrowGhost, type Ghost } from '../../charts/ghost'
import { LinesChart } from '../../charts/lines/LinesChart'
import type { Line } from '../../charts/lines/figure'
import { PingPongChart } from '../../charts/pingPong/PingPongChart'
import { stateNames } from '../../charts/pingPong/figure'
import type { LoadState } from '../../lib/loadState'
import { tierColour } from '../../lib/palette'
import { formatDuration } from '../../lib/units/time'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { NotesList } from '../../ui/text/NotesList'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Timestamp } from '../../ui/text/Timestamp'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './MovesTab.module.css'
import { StopMovingPanel } from './StopMovingPanel'

interface PingPongSectionProps {
  history: PingPongHistory | undefined
  load: LoadState
  marks: ChartMark[]
  /** What it is compared with. */
  ghost: Ghost | null
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

const tones = { ok: 'good', warn: 'warning', crit: 'critical' } as const

const spanColumns: Column<StateSpan>[] = [
  {
    key: 'state',
    header: 'State',
    cell: (span) => <ToneTag tone={tones[span.state]} label={stateNames[span.state]} />,
  },
  { key: 'from', header: 'From', cell: (span) => <Timestamp at={span.from} /> },
  {
    key: 'length',
    header: 'For',
    value: (span) => ({
      amount: span.to === null ? null : (Date.parse(span.to) - Date.parse(span.from)) / 1000,
      unit: 'seconds',
    }),
    numeric: true,
    cell: (span) =>
      span.to === null ? 'ongoing' : formatDuration((Date.parse(span.to) - Date.parse(span.from)) / 1000),
  },
  { key: 'why', header: 'Cause', cell: (span) => <Prose text={span.why} /> },
]

/** What stands beside the moves: whether they gain anything shows in residency, throughput and pressure. */
const beside = [
  { key: 'top_residency_ratio', name: 'top-residency', title: 'Memory in the top tier', colour: tierColour('dram') },
  { key: 'throughput_per_s', name: 'moves-throughput', title: 'Throughput', colour: undefined },
  { key: 'memory_pressure_ratio', name: 'moves-pressure', title: 'Memory pressure', colour: undefined },
]

function lineOf(history: PingPongHistory | undefined, key: string, colour: string | undefined): Line[] {
  const found = history?.series.find((line) => line.key === key)
  if (found === undefined || found.values.every((value) => value === null)) return []
  return [colour === undefined ? found : { ...found, colour }]
}

/** Ping-pong judged over time: states, whether the moves gain anything, what they cost, and whether to stop them. */
export function PingPongSection({ history, load, marks, ghost, onTimeZoom }: PingPongSectionProps) {
  const charts = useMemo(
    () =>
      beside
        .map((chart) => ({
          ...chart,
          lines: lineOf(history, chart.key, chart.colour),
          ghost: narrowGhost(ghost, [chart.key]),
        }))
        .filter(({ lines }) => lines.length > 0),
    [history, ghost],
  )
  const ratioGhost = useMemo(() => narrowGhost(ghost, ['ping_pong_ratio']), [ghost])
  return (
    <>
      <div className={classes.wide}>
        <PingPongChart
          history={history}
          marks={marks}
          ghost={ratioGhost}
          load={load}
          height={260}
          hint={history === undefined ? '\u00a0' : kindWords[history.kind]}
          onTimeZoom={onTimeZoom}
        />
        <StopMovingPanel history={history} />
      </div>
      <NotesList notes={history?.notes} />
      <StatStrip label="Cost of tier moves" columns={4}>
        <Stat label="CPU" name="CPU used by tier moves and hint faults" figure={history?.cost.cpu_core_ratio} />
        <Stat label="Moved" name="Bytes moved between tiers" figure={history?.cost.tier_move_bytes_per_s} />
        <Stat
          label="Share of slow bandwidth"
          name="Share of the slow tier’s bandwidth"
          figure={history?.cost.slow_bandwidth_ratio}
        />
        <Stat label="Pressure, some" name="Memory pressure of the service" figure={history?.cost.psi_some_ratio} />
      </StatStrip>
      {charts.length > 0 && (
        <div className={classes.several}>
          {charts.map((chart) => (
            <LinesChart
              key={chart.key}
              name={chart.name}
              title={chart.title}
              label={`${chart.title} over time`}
              load={load}
              axis={history?.axis}
              lines={chart.lines}
              ghost={chart.ghost}
              marks={marks}
              height={160}
              onTimeZoom={onTimeZoom}
              emptyText={{ title: 'No values in this time range', next: 'Widen the time range.' }}
            />
          ))}
        </div>
      )}
      {history !== undefined && history.missing === null && (
        <Panel title="States" hint="warning and critical periods, newest first" flush testId="ping-pong-spans">
          <DataTable
            label="Warning and critical periods"
            columns={spanColumns}
            rows={[...history.spans].reverse()}
            rowKey={(span) => `${span.state}-${span.from}`}
            empty={{ title: 'None in this time range', next: 'Ping-pong stayed below its thresholds.' }}
          />
        </Panel>
      )}
    </>
  )
}

const kindWords = {
  measured: 'measured: the kernel flags pages that were demoted before',
  sampled: 'sampled: single pages were followed',
  upper_bound: 'an upper bound: this kernel does not tell pages apart, so a moving hot set counts too',
  not_available: 'not available on this kernel',
} as const

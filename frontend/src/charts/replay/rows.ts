import type { SweepRunSeries } from '../../api/_generated/schema'
import { kindColour, moveColours, seriesColour, stateColours } from '../../lib/palette'
import { scaleFor } from '../../lib/units/units'

/** One row of the replay: its lines share an axis. */
export interface ReplayRow {
  name: string
  title: string
  lines: { name: string; values: (number | null)[]; colour: string; dash?: 'dot' | 'dash' | 'dashdot' }[]
  percent?: boolean
  format: string
}

function peak(values: (number | null)[]): number {
  return values.reduce<number>((most, value) => Math.max(most, value ?? 0), 0)
}

/** Whether anything is above zero. */
export function isUsed(values: (number | null)[]): boolean {
  return values.some((value) => value !== null && value > 0)
}

const asPercent = (values: (number | null)[]) => values.map((value) => (value === null ? null : value * 100))

function bytesRow(name: string, title: string, values: (number | null)[], colour: string): ReplayRow {
  const scale = scaleFor('bytes', peak(values))
  return {
    name,
    title: `${title}, ${scale.unit}`,
    lines: [{ name, values: values.map((value) => (value === null ? null : value / scale.divisor)), colour }],
    format: `%{y:,.3~g} ${scale.unit}`,
  }
}

/** The page kinds that the trace has. */
export function kindsOf(series: SweepRunSeries): ('anon' | 'file' | 'tmpfs')[] {
  const kinds = ['anon', 'file', 'tmpfs'] as const
  return kinds.filter((kind) => series.local_ratio_by_kind[kind].some((value) => value !== null))
}

/** How many intervals a point of the series stands for. */
export function joined(series: SweepRunSeries): number {
  const [first = 0, second = first + 1] = series.interval
  return Math.max(1, second - first)
}

/** The rows that a run has: swap only where it was written to. */
export function replayRows(series: SweepRunSeries): ReplayRow[] {
  return [
    {
      name: 'local share',
      title: 'local share, %',
      percent: true,
      format: '%{y:.3~g} %',
      lines: [
        { name: 'all', values: asPercent(series.local_ratio), colour: kindColour('all') },
        ...kindsOf(series).map((kind) => ({
          name: kind,
          values: asPercent(series.local_ratio_by_kind[kind]),
          colour: kindColour(kind),
        })),
      ],
    },
    {
      name: 'tier moves',
      title: joined(series) === 1 ? 'pages/interval' : `pages/${joined(series)} intervals`,
      format: '%{y:,.3~s} pages',
      lines: [
        { name: 'promoted', values: series.promoted_pages, colour: moveColours.promotion },
        // Where as much goes down as up, both lines stay in sight.
        { name: 'demoted', values: series.demoted_pages, colour: moveColours.demotion, dash: 'dash' },
        { name: 'ping-pong', values: series.ping_pong_pages, colour: stateColours.warn, dash: 'dot' },
        ...(isUsed(series.failed_promotion_pages)
          ? [
              {
                name: 'failed promotions',
                values: series.failed_promotion_pages,
                colour: moveColours.failed,
                dash: 'dashdot' as const,
              },
            ]
          : []),
      ],
    },
    bytesRow('DRAM free', 'DRAM free', series.dram_free_bytes, seriesColour(0)),
    ...(isUsed(series.swap_written_bytes)
      ? [bytesRow('written to swap', 'swap writes', series.swap_written_bytes, seriesColour(5))]
      : []),
  ]
}

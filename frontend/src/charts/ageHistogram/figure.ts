import type { AgeBucket, SchemeInfo } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatBytes, scaleFor } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, type Beside } from '../ghost'

/** The bucket [from, to) in words: `0`, `3–4`, `≥ 64`. */
export function bucketLabel(bucket: Pick<AgeBucket, 'from_intervals' | 'to_intervals'>): string {
  const { from_intervals: from, to_intervals: to } = bucket
  if (to === null) return `≥ ${from}`
  return to - from <= 1 ? `${from}` : `${from}–${to - 1}`
}

/** What bars of ages, or of other numbers of intervals, are called. */
export interface AgeWords {
  axis: string
  column: string
  seen: string
  /** Bytes whose number is a bound, and what that means. */
  bound: string
  atLeast: string
  none: string
  next: string
}

export const ageWords: AgeWords = {
  axis: 'age, intervals since last activity',
  column: 'age (intervals)',
  seen: 'seen active',
  bound: 'never seen active',
  atLeast: 'at least this old',
  none: 'No ages in this time range',
  next: 'Ages need at least one interval with heat: widen the time range.',
}

/** The words for gaps between two accesses. */
export const gapWords: AgeWords = {
  axis: 'intervals from one activity to the next',
  column: 'gap (intervals)',
  seen: 'accessed again',
  bound: 'not accessed again',
  atLeast: 'at least this long',
  none: 'No re-access in the selection',
  next: 'Re-access needs memory that was active and two intervals: select a longer time.',
}

/** All bytes of a bucket, whether seen active or not. */
export function bytesIn(bucket: Pick<AgeBucket, 'active_bytes' | 'never_bytes'>): number {
  return bucket.active_bytes + bucket.never_bytes
}

/** From this age on memory that is not hot by recency is cold, in intervals (docs/method/heat.md). */
const warmEnd = 10

/**
 * The class of memory of a bucket's ages under a scheme. Memory never seen active is at least that old: it is cold
 * where the bound says so, else unknown. Where classes go by frequency, ages decide nothing.
 */
export function classOfAge(
  bucket: Pick<AgeBucket, 'from_intervals'>,
  scheme: Pick<SchemeInfo, 'name' | 'threshold_intervals'>,
  seen: boolean,
): keyof typeof heatColours {
  const threshold = scheme.threshold_intervals
  if (scheme.name === 'frequency' || threshold === null) return 'unknown'
  const coldFrom = scheme.name === 'recency' ? Math.max(warmEnd, threshold) : threshold
  if (bucket.from_intervals >= coldFrom) return 'cold'
  if (!seen) return 'unknown'
  return bucket.from_intervals < threshold ? 'hot' : 'warm'
}

/**
 * Resident bytes by intervals since last activity, in the colours of their classes; bytes never seen active are
 * hatched, because their age is a bound. The other side's bytes, seen or not, are a dashed line along the tops of its bars.
 */
export function ageHistogramFigure(
  buckets: AgeBucket[],
  scheme: Pick<SchemeInfo, 'name' | 'threshold_intervals'>,
  theme: ChartTheme,
  words: AgeWords = ageWords,
  beside: Beside<AgeBucket[]> | null = null,
): ChartFigure {
  const colours = (seen: boolean) => buckets.map((bucket) => heatColours[classOfAge(bucket, scheme, seen)])
  const labels = buckets.map(bucketLabel)
  const others = new Map((beside?.answer ?? []).map((bucket) => [bucketLabel(bucket), bytesIn(bucket)]))
  const scale = scaleFor('bytes', Math.max(1, ...buckets.map(bytesIn), ...others.values()))
  return {
    data: [
      {
        type: 'bar',
        name: words.seen,
        x: labels,
        y: buckets.map((bucket) => bucket.active_bytes / scale.divisor),
        customdata: buckets.map((bucket) => formatBytes(bucket.active_bytes)),
        hovertemplate: '%{customdata}',
        marker: { color: colours(true) },
      },
      {
        type: 'bar',
        name: words.bound,
        x: labels,
        y: buckets.map((bucket) => bucket.never_bytes / scale.divisor),
        customdata: buckets.map((bucket) => formatBytes(bucket.never_bytes)),
        hovertemplate: `%{customdata}, ${words.atLeast}`,
        marker: {
          color: colours(false),
          pattern: { shape: '/', size: 5, solidity: 0.3, fgcolor: theme.surface, fillmode: 'overlay' },
        },
      },
      ...(beside === null || others.size === 0
        ? []
        : [
            {
              type: 'scatter' as const,
              mode: 'lines+markers' as const,
              name: plotText(beside.label),
              x: labels,
              y: labels.map((label) => (others.get(label) ?? 0) / scale.divisor),
              customdata: labels.map((label) => formatBytes(others.get(label) ?? 0)),
              hovertemplate: '%{customdata}',
              opacity: besideOpacity,
              line: { color: theme.text, width: 1.5, dash: 'dash' as const },
              marker: { size: 4, color: theme.text },
            },
          ]),
    ],
    layout: {
      ...baseLayout(theme),
      barmode: 'stack',
      bargap: 0.18,
      dragmode: false,
      margin: { l: 56, r: 12, t: 8, b: 42, pad: 0 },
      xaxis: titledAxis(theme, words.axis, {
        type: 'category',
        tickangle: 0,
        tickfont: { size: 9, color: theme.dimmed },
        showgrid: false,
      }),
      yaxis: titledAxis(theme, scale.unit, {
        nticks: 5,
        rangemode: 'tozero',
      }),
    },
    table: {
      columns: [
        words.column,
        'class',
        `${words.seen} (B)`,
        `${words.bound} (B)`,
        ...(beside === null || others.size === 0 ? [] : [`all, ${beside.label} (B)`]),
      ],
      rows: buckets.map((bucket) => [
        bucketLabel(bucket),
        classOfAge(bucket, scheme, true),
        bucket.active_bytes,
        bucket.never_bytes,
        ...(others.size === 0 ? [] : [others.get(bucketLabel(bucket)) ?? 0]),
      ]),
    },
  }
}

import type { AgeBucket } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { formatBytes, scaleFor } from '../../lib/units/units'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** The bucket [from, to) in words: `0`, `3–4`, `≥ 64`. */
export function bucketLabel(bucket: Pick<AgeBucket, 'from_intervals' | 'to_intervals'>): string {
  const { from_intervals: from, to_intervals: to } = bucket
  if (to === null) return `≥ ${from}`
  return to - from <= 1 ? `${from}` : `${from}–${to - 1}`
}

/** Resident bytes by intervals since last activity; bytes never seen active stand apart, because their age is a bound. */
export function ageHistogramFigure(buckets: AgeBucket[], theme: ChartTheme): ChartFigure {
  const labels = buckets.map(bucketLabel)
  const scale = scaleFor('bytes', Math.max(1, ...buckets.map((bucket) => bucket.active_bytes + bucket.never_bytes)))
  return {
    data: [
      {
        type: 'bar',
        name: 'seen active',
        x: labels,
        y: buckets.map((bucket) => bucket.active_bytes / scale.divisor),
        customdata: buckets.map((bucket) => formatBytes(bucket.active_bytes)),
        hovertemplate: '%{customdata}',
        marker: { color: heatColours.hot },
      },
      {
        type: 'bar',
        name: 'never seen active',
        x: labels,
        y: buckets.map((bucket) => bucket.never_bytes / scale.divisor),
        customdata: buckets.map((bucket) => formatBytes(bucket.never_bytes)),
        hovertemplate: '%{customdata}, idle at least this long',
        marker: { color: heatColours.cold },
      },
    ],
    layout: {
      ...baseLayout(theme),
      barmode: 'stack',
      bargap: 0.18,
      dragmode: false,
      margin: { l: 56, r: 12, t: 8, b: 42, pad: 0 },
      xaxis: {
        ...axis(theme),
        type: 'category',
        tickangle: 0,
        tickfont: { size: 9, color: theme.dimmed },
        fixedrange: true,
        showgrid: false,
        title: { text: 'age, intervals since last activity', font: { size: 11 }, standoff: 6 },
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        nticks: 5,
        rangemode: 'tozero',
        title: { text: scale.unit, font: { size: 11 }, standoff: 6 },
      },
    },
    table: {
      columns: ['age (intervals)', 'seen active (B)', 'never seen active (B)'],
      rows: buckets.map((bucket) => [bucketLabel(bucket), bucket.active_bytes, bucket.never_bytes]),
    },
  }
}

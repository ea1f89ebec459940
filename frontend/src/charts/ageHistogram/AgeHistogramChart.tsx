import { useMemo } from 'react'
import type { AgeBucket, Figure, SchemeInfo } from '../../api/_generated/schema'
import { heatColours } from '../../lib/palette'
import type { LegendItem } from '../../ui/layout/Legend'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { ageHistogramFigure } from './figure'

interface AgeHistogramChartProps extends Pick<ChartPanelProps, 'load' | 'hint' | 'height'> {
  buckets: AgeBucket[] | undefined
  evidence: Figure | undefined
  /** How memory is classed: its classes colour the bars. */
  scheme: SchemeInfo | undefined
  /** Whose ages they are. */
  title?: string
}

/** The classes that bars may have, and how those stand out whose age is a bound. */
function legendOf(scheme: SchemeInfo | undefined): LegendItem[] {
  const classes = scheme?.name === 'recency' ? (['hot', 'warm', 'cold'] as const) : (['hot', 'cold'] as const)
  const coloured =
    scheme?.name === 'frequency'
      ? [{ label: 'any class: classes go by frequency', colour: heatColours.unknown }]
      : classes.map((name) => ({ label: name, colour: heatColours[name] }))
  return [...coloured, { label: 'never seen active: at least this old', hatched: true }]
}

/** How long memory has been idle. */
export function AgeHistogramChart({
  buckets,
  evidence,
  scheme,
  title = 'Age of memory',
  load,
  hint,
  height,
}: AgeHistogramChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () => (buckets === undefined || scheme === undefined ? null : ageHistogramFigure(buckets, scheme, theme)),
    [buckets, scheme, theme],
  )
  const drawable = buckets?.some((bucket) => bucket.active_bytes + bucket.never_bytes > 0) ?? false
  return (
    <ChartPanel
      chart="ageHistogram"
      name="age-histogram"
      title={title}
      label={title}
      hint={hint}
      load={load}
      figure={figure}
      height={height}
      evidence={evidence}
      empty={
        buckets !== undefined && !drawable
          ? {
              title: 'No ages in this time range',
              next: 'Ages need at least one interval with heat: widen the time range.',
            }
          : null
      }
      legend={legendOf(scheme)}
    />
  )
}

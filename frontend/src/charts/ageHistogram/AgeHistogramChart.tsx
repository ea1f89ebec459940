import { useMemo } from 'react'
import type { AgeBucket, Figure } from '../../api/_generated/schema'
import { heatColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { ageHistogramFigure } from './figure'

interface AgeHistogramChartProps extends Pick<ChartPanelProps, 'load' | 'hint' | 'height'> {
  buckets: AgeBucket[] | undefined
  evidence: Figure | undefined
}

/** How long memory has been idle. */
export function AgeHistogramChart({ buckets, evidence, load, hint, height }: AgeHistogramChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(() => (buckets === undefined ? null : ageHistogramFigure(buckets, theme)), [buckets, theme])
  const drawable = buckets?.some((bucket) => bucket.active_bytes + bucket.never_bytes > 0) ?? false
  return (
    <ChartPanel
      chart="ageHistogram"
      name="age-histogram"
      title="Age of memory"
      label="Age of memory"
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
      legend={[
        { label: 'seen active', colour: heatColours.hot },
        { label: 'never seen active', colour: heatColours.cold },
      ]}
    />
  )
}

import { useMemo } from 'react'
import type { ComparisonWords } from '../../lib/comparison'
import type { HeatDifference } from '../../lib/heat/difference'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { changeBlock, changeDrawing } from './changeDrawing'
import { HeatmapChart, type HeatmapChartProps } from './HeatmapChart'
import type { RowSpan } from './layers'

interface ChangeHeatmapProps extends Omit<HeatmapChartProps, 'drawing'> {
  difference: HeatDifference | undefined
  words: ComparisonWords
  /** The change, in the measure, at which the colours end both ways. */
  limit: number
  /** Rows [first, last) to draw; all of them unless set. */
  span?: RowSpan | undefined
}

/** Change of activity by address and time, against an earlier time or another host. */
export function ChangeHeatmap({ difference, words, limit, span, ...chart }: ChangeHeatmapProps) {
  const theme = useChartTheme()
  const bar = chart.bar ?? true
  const block = useMemo(() => (difference === undefined ? null : changeBlock(difference, span)), [difference, span])
  const drawing = useMemo(
    () =>
      difference === undefined || block === null
        ? undefined
        : changeDrawing(difference, block, limit, theme, { bar, span, words }),
    [difference, block, limit, theme, bar, span, words],
  )
  return <HeatmapChart {...chart} drawing={drawing} />
}

import { useMemo } from 'react'
import type { ColourRange } from '../../lib/heat/colourRange'
import type { HeatGrid } from '../../lib/heat/heatGrid'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { activityDrawing } from './drawing'
import { HeatmapChart, type HeatmapChartProps } from './HeatmapChart'
import { activityBlock, type RowSpan } from './layers'

interface ActivityHeatmapProps extends Omit<HeatmapChartProps, 'drawing'> {
  grid: HeatGrid | undefined
  range: ColourRange
  /** Rows [first, last) to draw; all of them unless set. */
  span?: RowSpan | undefined
}

/** Activity by address and time. */
export function ActivityHeatmap({ grid, range, span, ...chart }: ActivityHeatmapProps) {
  const theme = useChartTheme()
  const bar = chart.bar ?? true
  const block = useMemo(() => (grid === undefined ? null : activityBlock(grid, span)), [grid, span])
  const drawing = useMemo(
    () =>
      grid === undefined || block === null ? undefined : activityDrawing(grid, block, range, theme, { bar, span }),
    [grid, block, range, theme, bar, span],
  )
  return <HeatmapChart {...chart} drawing={drawing} />
}

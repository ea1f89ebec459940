import { useCallback, type PointerEvent } from 'react'
import type { Box } from '../../lib/urlState'
import { heatmapMargins } from './figure'
import type { HoveredCell } from './HeatmapReadout'

/**
 * Which cell the pointer is over, from the plot's fixed margins. Cheaper than Plotly's own hover, which would need a
 * text for each of a hundred thousand cells, and it also answers where nothing was collected.
 */
export function useHoveredCell(box: Box, height: number, report: (cell: HoveredCell | null) => void) {
  return useCallback(
    (event: PointerEvent<HTMLElement>) => {
      const bounds = event.currentTarget.getBoundingClientRect()
      const plotWidth = bounds.width - heatmapMargins.l - heatmapMargins.r
      const plotHeight = (height - heatmapMargins.t - heatmapMargins.b) * 0.94
      const across = (event.clientX - bounds.left - heatmapMargins.l) / plotWidth
      const bottom = height - heatmapMargins.b
      const down = 1 - (bottom - (event.clientY - bounds.top)) / plotHeight
      if (across < 0 || across > 1 || down < 0 || down > 1) {
        report(null)
        return
      }
      report({ atSeconds: box.t0 + across * (box.t1 - box.t0), row: box.r0 + down * (box.r1 - box.r0) })
    },
    [box, height, report],
  )
}

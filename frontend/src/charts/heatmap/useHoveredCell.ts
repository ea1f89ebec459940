import { useCallback, type PointerEvent } from 'react'
import type { Box } from '../../lib/url/urlState'
import { heatmapMargins, regionShare } from './figure'
import type { HoveredCell } from './HeatmapReadout'

/**
 * Which cell the pointer is over, from the plot's fixed margins. Cheaper than Plotly's own hover, which would need a
 * text for each of a hundred thousand cells, and it also answers where nothing was collected.
 */
export function useHoveredCell(box: Box, height: number, bar: boolean, report: (cell: HoveredCell | null) => void) {
  return useCallback(
    (event: PointerEvent<HTMLElement>) => {
      const bounds = event.currentTarget.getBoundingClientRect()
      const margins = heatmapMargins(bounds.width, bar)
      const plotWidth = bounds.width - margins.l - margins.r
      const plotHeight = (height - margins.t - margins.b) * regionShare
      const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top]
      const across = (x - margins.l) / plotWidth
      const down = 1 - (height - margins.b - y) / plotHeight
      if (across < 0 || across > 1 || down < 0 || down > 1) {
        report(null)
        return
      }
      report({
        atSeconds: box.t0 + across * (box.t1 - box.t0),
        row: box.r0 + down * (box.r1 - box.r0),
        x,
        y,
        rightHalf: x > bounds.width / 2,
        lowerHalf: y > height / 2,
      })
    },
    [bar, box, height, report],
  )
}

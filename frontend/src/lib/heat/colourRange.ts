import type { Box } from '../url/urlState'
import { cellMaximum, type HeatGrid, type HeatRaster } from './heatGrid'

/** The activity codes at the two ends of a colour scale, and whether cells in it lie beyond them. */
export interface ColourRange {
  low: number
  high: number
  cutsLow: boolean
  cutsHigh: boolean
}

export const wholeRange: ColourRange = { low: 1, high: cellMaximum, cutsLow: false, cutsHigh: false }

/** The shares of active cells in view that lie below the ends of a scale that is not full. */
const [lowShare, highShare] = [0.02, 0.98]

/** Indices [first, last) of the rows and columns that a view touches. */
export function cellsInView(raster: HeatRaster, box: Box): { rows: [number, number]; columns: [number, number] } {
  const within = raster.columnEnds.map((end) => end > box.t0 && end - raster.columnSeconds < box.t1)
  const first = within.indexOf(true)
  const row = (at: number): number => Math.min(Math.max(at, 0), raster.rows.length)
  return {
    rows: [row(Math.floor(box.r0 / raster.rowsPerCell)), row(Math.ceil(box.r1 / raster.rowsPerCell))],
    columns: first < 0 ? [0, 0] : [first, within.lastIndexOf(true) + 1],
  }
}

/**
 * The range of activity to colour: from the 2nd to the 98th percentile of the active cells in view, so that a few
 * extreme cells do not make all others look alike; `full` takes all active cells of the grid. Idle cells have a
 * colour of their own and do not count.
 */
export function colourRange(grid: HeatGrid, box: Box, full: boolean): ColourRange {
  const counts = new Float64Array(cellMaximum + 1)
  const width = grid.columnEnds.length
  const view = cellsInView(grid, box)
  const [rows, columns] = full ? [[0, grid.rows.length] as const, [0, width] as const] : [view.rows, view.columns]
  let total = 0
  for (let row = rows[0]; row < rows[1]; row += 1) {
    for (let column = columns[0]; column < columns[1]; column += 1) {
      const code = grid.cells[row * width + column] ?? 0
      if (code < 1 || code > cellMaximum) continue
      counts[code] = (counts[code] ?? 0) + 1
      total += 1
    }
  }
  if (total === 0) return wholeRange
  const codeAt = (share: number): number => {
    let below = 0
    return counts.findIndex((count) => (below += count) >= Math.max(1, share * total))
  }
  const [least, most] = [codeAt(0), codeAt(1)]
  const [low, high] = full ? [least, most] : [codeAt(lowShare), codeAt(highShare)]
  return { low: low < high ? low : Math.max(0, high - 1), high, cutsLow: least < low, cutsHigh: most > high }
}

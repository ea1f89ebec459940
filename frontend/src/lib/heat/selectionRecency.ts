import type { Box } from '../url/urlState'
import { cellMaximum, type HeatGrid } from './heatGrid'
import { selectedColumns } from './heatSelection'

/**
 * How recently the rows of a selection were active, as shares of their bytes at its last column; the first four add up
 * to 1. A row is active where any part of it is: these are upper bounds of what is active, by the size of a row.
 */
export interface SelectionRecency {
  activeShare: number
  /** Idle in the last column, active in an earlier one. */
  activeBeforeShare: number
  /** Idle in the last column, and active in none that is known. */
  neverShare: number
  /** The last column holds no activity: unsampled, not resident or not collected. */
  unknownShare: number
  /** Active again after a column in which it was idle. */
  againShare: number
}

/** Sum up when the selected rows were last active; null where the selection covers no cell of this grid. */
export function summariseRecency(grid: HeatGrid, box: Box): SelectionRecency | null {
  const columns = selectedColumns(grid, box)
  const last = columns.at(-1)
  const width = grid.columnEnds.length
  let [total, active, before, never, unknown, again] = [0, 0, 0, 0, 0, 0]
  const end = Math.min(grid.rows.length, Math.ceil(box.r1))
  for (let row = Math.max(0, Math.floor(box.r0)); row < end && last !== undefined; row += 1) {
    const bytes = grid.rows[row]?.sizeBytes ?? 0
    const codes = columns.map((column) => grid.cells[row * width + column] ?? 255).filter((code) => code <= cellMaximum)
    const firstIdle = codes.indexOf(0)
    const newest = grid.cells[row * width + last] ?? 255
    total += bytes
    if (newest > cellMaximum) unknown += bytes
    else if (newest > 0) active += bytes
    else if (codes.some((code) => code > 0)) before += bytes
    else never += bytes
    if (firstIdle >= 0 && codes.slice(firstIdle).some((code) => code > 0)) again += bytes
  }
  if (total === 0) return null
  return {
    activeShare: active / total,
    activeBeforeShare: before / total,
    neverShare: never / total,
    unknownShare: unknown / total,
    againShare: again / total,
  }
}

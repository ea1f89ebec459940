import { cellActivity, cellState, formatActivity, measureLabel, type HeatGrid } from '../../lib/heat/heatGrid'
import { formatLocal, formatUtc, zoneName } from '../../lib/units/time'
import { formatBytes } from '../../lib/units/units'
import classes from './HeatmapReadout.module.css'

/** The cell under the pointer: seconds and epoch row. */
export interface HoveredCell {
  atSeconds: number
  row: number
}

function cellUnder(grid: HeatGrid, hovered: HoveredCell) {
  const index = Math.floor(hovered.row / grid.rowsPerCell)
  const row = grid.rows[index]
  const column = grid.columnEnds.findIndex(
    (end) => hovered.atSeconds <= end && hovered.atSeconds > end - grid.columnSeconds,
  )
  if (row === undefined) return null
  const code = column < 0 ? 255 : (grid.cells[index * grid.columnEnds.length + column] ?? 255)
  const end = column < 0 ? hovered.atSeconds : (grid.columnEnds[column] ?? hovered.atSeconds)
  return { row, code, end }
}

/** One line of fixed height that names the cell under the pointer, so that nothing covers the heatmap. */
export function HeatmapReadout({ grid, hovered }: { grid: HeatGrid; hovered: HoveredCell | null }) {
  const cell = hovered === null ? null : cellUnder(grid, hovered)
  if (cell === null) {
    return (
      <div className={classes.readout}>
        <span className={classes.hint}>
          Point at a cell to read it. Wheel or + − zooms, drag or arrows pan, B selects an area.
        </span>
      </div>
    )
  }
  const { row, code, end } = cell
  const activity = cellActivity(grid, code)
  const date = new Date(end * 1000)
  return (
    <div className={classes.readout} data-testid="heatmap-readout">
      <strong>
        {activity === null || code === 0
          ? cellState(code)
          : `${formatActivity(grid.measure, activity)} ${measureLabel(grid.measure)}`}
      </strong>
      <span>{row.kind}</span>
      <span className="ts-mono">{row.mapping}</span>
      <span>
        + {formatBytes(row.offsetBytes)}, {formatBytes(row.sizeBytes)} long
      </span>
      <span>
        {formatLocal(date)} {zoneName(date)} · {formatUtc(date)}
      </span>
    </div>
  )
}

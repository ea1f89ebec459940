import { formatUtc, formatWindow } from '../../lib/units/time'
import { formatMib, formatRatio } from '../../lib/units/units'
import type { HeatmapDrawing } from './drawing'
import classes from './HeatmapReadout.module.css'

/** The cell under the pointer: seconds and epoch row, and where the pointer is in the chart, in pixels. */
export interface HoveredCell {
  atSeconds: number
  row: number
  x: number
  y: number
  rightHalf: boolean
  lowerHalf: boolean
}

interface HeatmapReadoutProps {
  drawing: HeatmapDrawing
  hovered: HoveredCell | null
  height: number
}

/** What the cell under the pointer holds, beside the pointer and on that side of it that has more room. */
export function HeatmapReadout({ drawing, hovered, height }: HeatmapReadoutProps) {
  if (hovered === null) return null
  const { raster } = drawing
  const index = Math.floor(hovered.row / raster.rowsPerCell)
  const row = raster.rows[index]
  if (row === undefined) return null
  const place = raster.columnEnds.findIndex(
    (end) => hovered.atSeconds <= end && hovered.atSeconds > end - raster.columnSeconds,
  )
  const column = place < 0 ? null : place
  const endSeconds =
    column === null
      ? Math.ceil(hovered.atSeconds / raster.columnSeconds) * raster.columnSeconds
      : (raster.columnEnds[column] ?? 0)
  const [from, to] = [new Date((endSeconds - raster.columnSeconds) * 1000), new Date(endSeconds * 1000)]
  const [first, ...more] = drawing.read(index, column)
  const end = row.offsetBytes + row.sizeBytes
  return (
    <div
      className={classes.readout}
      data-testid="heatmap-readout"
      style={{
        [hovered.rightHalf ? 'right' : 'left']: hovered.rightHalf ? `calc(100% - ${hovered.x - 14}px)` : hovered.x + 14,
        [hovered.lowerHalf ? 'bottom' : 'top']: hovered.lowerHalf ? height - hovered.y + 14 : hovered.y + 14,
      }}
    >
      <strong>{first}</strong>
      {more.map((line) => (
        <span key={line}>{line}</span>
      ))}
      <span>
        {row.kind} <span className="ts-mono">{row.mapping}</span> + {formatMib(row.offsetBytes)} – {formatMib(end)} MiB
      </span>
      <span>{formatWindow(from, to)}</span>
      <span className={classes.dimmed}>
        to {formatUtc(to)}
        {column === null ? '' : ` · coverage ${formatRatio(raster.knownShare[column] ?? 0)}`}
      </span>
    </div>
  )
}

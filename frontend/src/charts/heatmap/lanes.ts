import type { HeatRaster } from '../../lib/heat/heatGrid'
import { scaleFor } from '../../lib/units/units'

/** A run of rows with something in common, in epoch rows [r0, r1). */
export interface RowRun {
  label: string
  r0: number
  r1: number
}

function runsBy(grid: HeatRaster, labelOf: (index: number) => string, keyOf: (index: number) => string): RowRun[] {
  const runs: RowRun[] = []
  let key: string | null = null
  grid.rows.forEach((_, index) => {
    const next = keyOf(index)
    const last = runs.at(-1)
    if (last !== undefined && next === key) last.r1 = (index + 1) * grid.rowsPerCell
    else runs.push({ label: labelOf(index), r0: index * grid.rowsPerCell, r1: (index + 1) * grid.rowsPerCell })
    key = next
  })
  return runs
}

/** The lanes of the heatmap: runs of one page kind. */
export function lanes(grid: HeatRaster): RowRun[] {
  const kind = (index: number): string => grid.rows[index]?.kind ?? ''
  return runsBy(grid, kind, kind)
}

/** Runs of one mapping within a lane. */
export function mappings(grid: HeatRaster): RowRun[] {
  return runsBy(
    grid,
    (index) => grid.rows[index]?.mapping ?? '',
    (index) => `${grid.rows[index]?.kind ?? ''}\u0000${grid.rows[index]?.mapping ?? ''}`,
  )
}

/**
 * The runs that have room for a label in the view, and where it stands: in the middle of their visible part. Runs
 * that are too low on the screen go unlabelled rather than overlap; the readout names them.
 */
export function labelsInView(runs: RowRun[], r0: number, r1: number, plotPixels: number, labelPixels = 14) {
  const perRow = plotPixels / Math.max(1, r1 - r0)
  const labels: { label: string; at: number }[] = []
  let lastBottom = -Infinity
  for (const run of runs) {
    const top = Math.max(run.r0, r0)
    const bottom = Math.min(run.r1, r1)
    const at = (top + bottom) / 2
    const pixel = (at - r0) * perRow
    if (bottom <= top || (bottom - top) * perRow < labelPixels * 0.7 || pixel - lastBottom < labelPixels) continue
    labels.push({ label: run.label, at })
    lastBottom = pixel
  }
  return labels
}

/** The offset within its mapping at an epoch row, in bytes; null outside the rows. */
function offsetAt(grid: HeatRaster, at: number): number | null {
  const index = Math.min(Math.floor(at / grid.rowsPerCell), grid.rows.length - 1)
  const row = grid.rows[index]
  return row === undefined ? null : row.offsetBytes + (at / grid.rowsPerCell - index) * row.sizeBytes
}

/** The epoch row at which an offset lies between two epoch rows of one mapping; null where no row holds it. */
function rowOf(grid: HeatRaster, offset: number, from: number, to: number): number | null {
  const last = Math.min(Math.ceil(to / grid.rowsPerCell), grid.rows.length)
  for (let index = Math.floor(from / grid.rowsPerCell); index < last; index += 1) {
    const row = grid.rows[index]
    if (row === undefined || offset < row.offsetBytes || offset >= row.offsetBytes + row.sizeBytes) continue
    return (index + (offset - row.offsetBytes) / row.sizeBytes) * grid.rowsPerCell
  }
  return null
}

/**
 * Round offsets within one mapping, as far as it is in view, at least `leastPixels` apart: multiples of a power of two
 * in its unit, such as `64 MiB`.
 */
export function offsetTicks(
  grid: HeatRaster,
  run: RowRun,
  view: { r0: number; r1: number; plotPixels: number },
  leastPixels = 34,
): { label: string; at: number }[] {
  const top = Math.max(run.r0, view.r0)
  const bottom = Math.min(run.r1, view.r1)
  const pixels = ((bottom - top) / Math.max(1, view.r1 - view.r0)) * view.plotPixels
  const [first, last] = [offsetAt(grid, top), offsetAt(grid, bottom - 1e-6)]
  if (pixels < 2 * leastPixels || first === null || last === null || last <= first) return []
  const step = 2 ** Math.ceil(Math.log2(((last - first) * leastPixels) / pixels))
  const { divisor, unit } = scaleFor('bytes', step)
  const ticks: { label: string; at: number }[] = []
  for (let offset = Math.ceil(first / step) * step; offset <= last; offset += step) {
    const at = rowOf(grid, offset, top, bottom)
    if (at !== null) ticks.push({ label: `${(offset / divisor).toLocaleString('en-US')} ${unit}`, at })
  }
  return ticks
}

/** Labels of the rows in view: names of mappings along those that are high enough, and ticks beside them. */
export interface RowLabels {
  ticks: { label: string; at: number }[]
  /** Names that stand upright beside their offsets; `pixels` is the height that they have. */
  upright: { label: string; at: number; pixels: number }[]
}

/** Offsets and the upright name where a mapping is high, its name alone where it is low, nothing where it is too low. */
export function rowLabels(grid: HeatRaster, r0: number, r1: number, plotPixels: number, leastPixels = 70): RowLabels {
  const perRow = plotPixels / Math.max(1, r1 - r0)
  const runs = mappings(grid).filter((run) => run.r1 > r0 && run.r0 < r1)
  const heightOf = (run: RowRun): number => (Math.min(run.r1, r1) - Math.max(run.r0, r0)) * perRow
  const high = runs.filter((run) => heightOf(run) >= leastPixels)
  const low = runs.filter((run) => heightOf(run) < leastPixels)
  return {
    ticks: [
      ...labelsInView(low, r0, r1, plotPixels),
      ...high.flatMap((run) => offsetTicks(grid, run, { r0, r1, plotPixels })),
    ],
    upright: high.map((run) => ({
      label: run.label,
      at: (Math.max(run.r0, r0) + Math.min(run.r1, r1)) / 2,
      pixels: heightOf(run),
    })),
  }
}

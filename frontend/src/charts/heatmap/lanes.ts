import type { HeatGrid } from '../../lib/heat/heatGrid'

/** A run of rows with something in common, in epoch rows [r0, r1). */
export interface RowRun {
  label: string
  r0: number
  r1: number
}

function runsBy(grid: HeatGrid, labelOf: (index: number) => string, keyOf: (index: number) => string): RowRun[] {
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
export function lanes(grid: HeatGrid): RowRun[] {
  const kind = (index: number): string => grid.rows[index]?.kind ?? ''
  return runsBy(grid, kind, kind)
}

/** Runs of one mapping within a lane. */
export function mappings(grid: HeatGrid): RowRun[] {
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

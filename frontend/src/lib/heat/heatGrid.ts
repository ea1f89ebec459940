/** Cells of the heatmap and what their codes mean (docs/method/heat.md). */

export const cellUnsampled = 253
export const cellNotResident = 254
export const cellNotCollected = 255
export const cellMaximum = 250

/** One row: a stretch of a mapping of the process group. */
export interface HeatRow {
  kind: 'anon' | 'file' | 'tmpfs'
  mapping: string
  offsetBytes: number
  sizeBytes: number
}

/** A grid as charts use it: `cells` holds one code per cell, row by row. */
export interface HeatGrid {
  hostId: string
  group: string
  groups: string[]
  hosts: string[]
  backend: string
  granularity: string
  window: { start: string; end: string }
  columnSeconds: number
  /** Ends of the columns, Unix seconds. */
  columnEnds: number[]
  regionBytes: number
  rowsPerCell: number
  measure: string
  unit: number
  base: number
  rows: HeatRow[]
  cells: Uint8Array
  /** Share of what should have been observed that was, per column, 0..1. */
  knownShare: number[]
  notes: string[]
  epochs: number
  simulated: boolean
}

/** What a code means, in words. */
export function cellState(code: number): 'idle' | 'active' | 'unsampled' | 'not resident' | 'not collected' {
  if (code === 0) return 'idle'
  if (code <= cellMaximum) return 'active'
  if (code === cellUnsampled) return 'unsampled'
  return code === cellNotResident ? 'not resident' : 'not collected'
}

/** Activity of a code in the grid's measure; 0 for idle, null where the code is not an activity. */
export function cellActivity(grid: Pick<HeatGrid, 'base' | 'unit'>, code: number): number | null {
  if (code === 0) return 0
  return code <= cellMaximum ? grid.base ** (code - 1) * grid.unit : null
}

/** The code (a real number) at which an activity lies on the scale; the inverse of cellActivity for legends. */
export function activityCode(grid: Pick<HeatGrid, 'base' | 'unit'>, activity: number): number {
  return 1 + Math.log(activity / grid.unit) / Math.log(grid.base)
}

/** The largest activity code in the grid, at least 1: the upper end of the colour scale. */
export function largestCode(grid: HeatGrid): number {
  let largest = 1
  for (const code of grid.cells) if (code <= cellMaximum && code > largest) largest = code
  return largest
}

/** Measures of activity as a label with unit. */
export function measureLabel(measure: string): string {
  const labels: Record<string, string> = {
    active_share: 'active share of bytes per interval',
    accesses_per_byte: 'accesses per byte',
    accesses_per_page: 'accesses per page',
  }
  return labels[measure] ?? measure.replaceAll('_', ' ')
}

/** An activity as text in its measure. */
export function formatActivity(measure: string, activity: number): string {
  if (measure.endsWith('share') || measure.endsWith('ratio')) {
    const percent = activity * 100
    return `${percent >= 10 ? percent.toFixed(0) : percent >= 0.1 ? percent.toFixed(1) : percent.toPrecision(1)} %`
  }
  return activity >= 1e-4 ? String(Number(activity.toPrecision(2))) : activity.toExponential(0)
}

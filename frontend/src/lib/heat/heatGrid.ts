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

/** Where cells lie: rows of addresses, columns of time. */
export interface HeatRaster {
  columnSeconds: number
  /** Ends of the columns, Unix seconds. */
  columnEnds: number[]
  rowsPerCell: number
  rows: HeatRow[]
  /** Share of what should have been observed that was, per column, 0..1. */
  knownShare: number[]
}

/** What activity is measured in: a code v from 1 to 250 stands for `base ** (v - 1) * unit`. */
export interface ActivityScale {
  measure: string
  unit: number
  base: number
}

/** A grid as charts use it: `cells` holds one code per cell, row by row. */
export interface HeatGrid extends HeatRaster, ActivityScale {
  hostId: string
  group: string
  groups: string[]
  hosts: string[]
  backend: string
  granularity: string
  window: { start: string; end: string }
  regionBytes: number
  cells: Uint8Array
  notes: string[]
  /** The lists of rows that the columns come from, newest first. */
  epochIds: string[]
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

/** Measures of activity as a label with unit. */
export function measureLabel(measure: string): string {
  const labels: Record<string, string> = {
    active_share: 'active share of bytes per interval',
    accesses_per_byte: 'accesses per byte',
    accesses_per_page: 'accesses per page',
  }
  return labels[measure] ?? measure.replaceAll('_', ' ')
}

/** The title of a colour bar: what is measured, in which unit, on which scale. */
export function measureTitle(measure: string): string {
  return `${measureLabel(measure)}${isShare(measure) ? ', %' : ''} (log scale)`
}

/** Whether activity is a share, which is written as a percentage. */
export function isShare(measure: string): boolean {
  return measure.endsWith('share') || measure.endsWith('ratio')
}

/** An activity as text in its measure. */
export function formatActivity(measure: string, activity: number): string {
  if (isShare(measure)) {
    const percent = activity * 100
    return `${percent >= 10 ? percent.toFixed(0) : percent >= 0.1 ? percent.toFixed(1) : percent.toPrecision(1)} %`
  }
  return activity >= 1e-4 ? String(Number(activity.toPrecision(2))) : activity.toExponential(0)
}

/** A change of activity as a number with its sign: points of a share, else in the measure. */
export function changeNumber(measure: string, change: number): string {
  const sign = change > 0 ? '+' : change < 0 ? '−' : ''
  const size = Math.abs(change)
  if (!isShare(measure)) return `${sign}${size === 0 ? '0' : formatActivity(measure, size)}`
  const points = size * 100
  return `${sign}${Number(points.toFixed(points >= 10 ? 0 : points >= 1 ? 1 : 2))}`
}

/** A change of activity as text, with its unit. */
export function formatChange(measure: string, change: number): string {
  return `${changeNumber(measure, change)} ${isShare(measure) ? 'points' : measureLabel(measure)}`
}

/** The title of a colour bar of changes: what changed, in which unit. */
export function changeTitle(measure: string): string {
  return `change of ${measureLabel(measure)}${isShare(measure) ? ', percentage points' : ''}`
}

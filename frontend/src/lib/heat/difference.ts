import { alignColumns, alignRows, type Bin, type Part } from './align'
import {
  cellActivity,
  cellMaximum,
  cellNotCollected,
  cellNotResident,
  cellUnsampled,
  isShare,
  type HeatGrid,
  type HeatRaster,
} from './heatGrid'

/** What one side of a comparison knows of a cell. */
export const sideStates = ['known', 'unsampled', 'not resident', 'not collected'] as const
export const [sideKnown, sideUnsampled, sideAbsent, sideNotCollected] = [0, 1, 2, 3]

/** What a cell of a difference is; `compared` ones alone have a difference. */
export const differenceStates = [
  'compared',
  'only now',
  'only then',
  'unsampled',
  'not resident',
  'not collected',
] as const
export const [compared, onlyNow, onlyThen, notSampled, notResident, notCollected] = [0, 1, 2, 3, 4, 5]

/** One side of all cells; `activity` is NaN where its state is not known. */
export interface Side {
  activity: Float32Array
  state: Uint8Array
}

/** Activity now minus activity then, cell by cell of `raster`, whose first rows are those of the grid of now. */
export interface HeatDifference {
  raster: HeatRaster
  measure: string
  now: Side
  then: Side
  /** In the measure; NaN where the two sides cannot be compared. */
  change: Float32Array
  /** Places in differenceStates. */
  state: Uint8Array
  notes: string[]
}

/** The state of a cell whose sides have these states. */
export function differenceState(now: number, then: number): number {
  if (now === sideNotCollected || then === sideNotCollected) return notCollected
  if (now === sideAbsent) return then === sideAbsent ? notResident : onlyThen
  if (then === sideAbsent) return onlyNow
  return now === sideKnown && then === sideKnown ? compared : notSampled
}

/** Whether a column holds anything at all; without, it says nothing of rows that are missing either. */
function collectedColumns(grid: HeatGrid): boolean[] {
  const width = grid.columnEnds.length
  return grid.columnEnds.map((_, column) =>
    grid.rows.some((_row, row) => grid.cells[row * width + column] !== cellNotCollected),
  )
}

const stateOfCode = (code: number): number =>
  code <= cellMaximum
    ? sideKnown
    : code === cellUnsampled
      ? sideUnsampled
      : code === cellNotResident
        ? sideAbsent
        : sideNotCollected

/** The mean of the known cells of a bin, else NaN and what most of it is. */
function meanOf(grid: HeatGrid, activities: Float64Array, rows: Part[], columns: Part[]): [number, number] {
  const width = grid.columnEnds.length
  const weights = [0, 0, 0, 0]
  let sum = 0
  for (const row of rows) {
    for (const column of columns) {
      const code = grid.cells[row.index * width + column.index] ?? cellNotCollected
      const weight = row.weight * column.weight
      const state = stateOfCode(code)
      weights[state] = (weights[state] ?? 0) + weight
      if (state === sideKnown) sum += (activities[code] ?? 0) * weight
    }
  }
  const known = weights[sideKnown] ?? 0
  if (known > 0) return [sum / known, sideKnown]
  return [NaN, weights.indexOf(Math.max(...weights))]
}

function fillSide(grid: HeatGrid, rows: Bin[], columns: Bin[], of: 'now' | 'then', cells: number, width: number): Side {
  const activities = Float64Array.from({ length: cellMaximum + 1 }, (_, code) => cellActivity(grid, code) ?? NaN)
  const collected = collectedColumns(grid)
  const side = { activity: new Float32Array(cells).fill(NaN), state: new Uint8Array(cells).fill(sideNotCollected) }
  for (const column of columns) {
    const hasData = column[of].some(({ index }) => collected[index] ?? false)
    if (!hasData) continue
    for (const row of rows) {
      const [activity, state] = row[of].length === 0 ? [NaN, sideAbsent] : meanOf(grid, activities, row[of], column[of])
      for (const y of row.places) {
        for (const x of column.places) {
          side.activity[y * width + x] = activity
          side.state[y * width + x] = state
        }
      }
    }
  }
  return side
}

/** Why two grids cannot be compared at all; null where they can. */
export function whyIncomparable(now: HeatGrid, then: HeatGrid): string | null {
  if (now.rows.length === 0 || then.rows.length === 0) return 'One side has no heat tiles.'
  if (now.measure !== then.measure) return `One side measures ${now.measure}, the other ${then.measure}.`
  return null
}

function notesOn(now: HeatGrid, then: HeatGrid): string[] {
  const notes: string[] = []
  if (now.backend !== then.backend || now.granularity !== then.granularity)
    notes.push('The two sides were measured by different methods: a part of the difference may be theirs.')
  const unnamed = [...now.rows, ...then.rows].some(({ mapping }) => /^anon-\d+$/.test(mapping))
  const sameRows = now.hostId === then.hostId && now.epochIds[0] === then.epochIds[0]
  if (unnamed && !sameRows)
    notes.push('Unnamed mappings (anon-1, …) are matched by number, which goes by size: they may hold different data.')
  return notes
}

/**
 * Activity of `now` minus that of `then`, whose columns are moved later by `shiftSeconds`. Rows are matched by kind,
 * mapping and offset; where the rasters differ, both sides are taken over the coarser one. Only cells that both sides
 * sampled have a difference.
 */
export function subtractGrids(now: HeatGrid, then: HeatGrid, shiftSeconds: number): HeatDifference {
  const { bins: rowBins, rows } = alignRows(now, then)
  const columnBins = alignColumns(now, then, shiftSeconds)
  const width = now.columnEnds.length
  const cells = rows.length * width
  const present = fillSide(now, rowBins, columnBins, 'now', cells, width)
  const past = fillSide(then, rowBins, columnBins, 'then', cells, width)
  const change = new Float32Array(cells)
  const state = new Uint8Array(cells)
  for (let cell = 0; cell < cells; cell += 1) {
    state[cell] = differenceState(present.state[cell] ?? sideNotCollected, past.state[cell] ?? sideNotCollected)
    // NaN on either side stays NaN: a cell that only one side knows has no difference.
    change[cell] = (present.activity[cell] ?? NaN) - (past.activity[cell] ?? NaN)
  }
  const raster = { columnEnds: now.columnEnds, columnSeconds: now.columnSeconds, rowsPerCell: now.rowsPerCell, rows }
  return {
    raster: { ...raster, knownShare: comparedShares(rows, state, width) },
    measure: now.measure,
    now: present,
    then: past,
    change,
    state,
    notes: notesOn(now, then),
  }
}

/** Per column the share of the bytes on either side that both sides sampled; 0 where nothing is. */
function comparedShares(rows: HeatRaster['rows'], state: Uint8Array, width: number): number[] {
  return Array.from({ length: width }, (_, column) => {
    let [both, all] = [0, 0]
    rows.forEach(({ sizeBytes }, row) => {
      const at = state[row * width + column]
      if (at !== notResident) all += sizeBytes
      if (at === compared) both += sizeBytes
    })
    return all === 0 ? 0 : both / all
  })
}

/** The least change that counts: 5 points of a share; of other measures a fifth of the larger side. */
export function counts(measure: string, now: number, then: number): boolean {
  const change = Math.abs(now - then)
  return isShare(measure) ? change > 0.05 : change > 0.2 * Math.max(now, then)
}

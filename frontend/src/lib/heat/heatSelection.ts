import type { Box } from '../url/urlState'
import { cellActivity, cellMaximum, cellNotResident, cellUnsampled, type HeatGrid } from './heatGrid'

/** A mapping that a selection touches, with the stretch of offsets inside it. */
export interface SelectedMapping {
  kind: string
  mapping: string
  fromBytes: number
  toBytes: number
}

/** What a selection of the heatmap holds. Shares are of byte-intervals and add up to 1 where any cell was selected. */
export interface SelectionSummary {
  rows: number
  columns: number
  startSeconds: number
  endSeconds: number
  bytes: number
  activeShare: number
  idleShare: number
  unsampledShare: number
  notResidentShare: number
  notCollectedShare: number
  /** Mean activity over the cells with a known activity, weighted by bytes; null where none is known. */
  meanActivity: number | null
  peakActivity: number | null
  mappings: SelectedMapping[]
}

/** Indices of the columns whose interval overlaps (t0, t1]. */
export function selectedColumns(grid: HeatGrid, box: Box): number[] {
  const columns: number[] = []
  grid.columnEnds.forEach((end, index) => {
    if (end > box.t0 && end - grid.columnSeconds < box.t1) columns.push(index)
  })
  return columns
}

function mergeMappings(grid: HeatGrid, first: number, last: number): SelectedMapping[] {
  const merged = new Map<string, SelectedMapping>()
  for (const row of grid.rows.slice(first, last)) {
    const key = `${row.kind}\u0000${row.mapping}`
    const end = row.offsetBytes + row.sizeBytes
    const known = merged.get(key)
    if (known === undefined) {
      merged.set(key, { kind: row.kind, mapping: row.mapping, fromBytes: row.offsetBytes, toBytes: end })
    } else {
      known.fromBytes = Math.min(known.fromBytes, row.offsetBytes)
      known.toBytes = Math.max(known.toBytes, end)
    }
  }
  return [...merged.values()]
}

/** Sum up a selection; null where it covers no cell of this grid (another host, group or time). */
export function summariseSelection(grid: HeatGrid, box: Box): SelectionSummary | null {
  const columns = selectedColumns(grid, box)
  const first = Math.max(0, Math.floor(box.r0))
  const last = Math.min(grid.rows.length, Math.ceil(box.r1))
  const firstColumn = columns[0]
  const lastColumn = columns.at(-1)
  if (firstColumn === undefined || lastColumn === undefined || last <= first) return null

  let bytes = 0
  let total = 0
  let [active, idle, unsampled, notResident, notCollected] = [0, 0, 0, 0, 0]
  let [weighted, weight] = [0, 0]
  let peak: number | null = null
  const width = grid.columnEnds.length
  for (let row = first; row < last; row += 1) {
    const size = grid.rows[row]?.sizeBytes ?? 0
    bytes += size
    for (const column of columns) {
      const code = grid.cells[row * width + column] ?? 255
      total += size
      if (code === 0) idle += size
      else if (code <= cellMaximum) active += size
      else if (code === cellUnsampled) unsampled += size
      else if (code === cellNotResident) notResident += size
      else notCollected += size
      const activity = cellActivity(grid, code)
      if (activity === null) continue
      weighted += activity * size
      weight += size
      peak = peak === null ? activity : Math.max(peak, activity)
    }
  }
  const share = (part: number): number => (total === 0 ? 0 : part / total)
  return {
    rows: last - first,
    columns: columns.length,
    startSeconds: (grid.columnEnds[firstColumn] ?? 0) - grid.columnSeconds,
    endSeconds: grid.columnEnds[lastColumn] ?? 0,
    bytes,
    activeShare: share(active),
    idleShare: share(idle),
    unsampledShare: share(unsampled),
    notResidentShare: share(notResident),
    notCollectedShare: share(notCollected),
    meanActivity: weight === 0 ? null : weighted / weight,
    peakActivity: peak,
    mappings: mergeMappings(grid, first, last),
  }
}

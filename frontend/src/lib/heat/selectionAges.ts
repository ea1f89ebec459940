import type { Box } from '../url/urlState'
import { cellMaximum, cellNotResident, type HeatGrid } from './heatGrid'
import { selectedColumns } from './heatSelection'

/** Bytes by a number of intervals in [from, to); `to` is null where there is no end. */
export interface IntervalBytes {
  fromIntervals: number
  toIntervals: number | null
  /** Bytes whose number is known. */
  seenBytes: number
  /** Bytes whose number is at least this, because the selection holds no more. */
  boundBytes: number
}

/** A row of a grid, and how many of its bytes are selected. */
export interface SelectedPart {
  row: number
  bytes: number
}

/** What the cells of exactly the selected addresses say of them in the selected time. */
export interface SelectionAges {
  /** Intervals since the last activity, at the end of the selection. */
  ages: IntervalBytes[]
  /** Intervals from one activity to the next; a stretch of memory counts once for each. */
  gaps: IntervalBytes[]
  /** Bytes of rows that are resident in part or whole at the end of the selection: an upper bound of what is. */
  residentBytes: number
  /** Of those, bytes of rows that are not known at its end; they have no age. */
  unknownBytes: number
  /** Share of the resident byte-intervals that was observed. */
  knownShare: number
  columns: number
}

/** Where buckets begin, as in the ages of services (docs/method/heat.md). */
const edges = [0, 1, 2, 3, 5, 10, 20, 40, 64]

function emptyBuckets(): IntervalBytes[] {
  return edges.map((from, index) => ({
    fromIntervals: from,
    toIntervals: edges[index + 1] ?? null,
    seenBytes: 0,
    boundBytes: 0,
  }))
}

function add(buckets: IntervalBytes[], intervals: number, key: 'seenBytes' | 'boundBytes', bytes: number): void {
  const bucket = buckets[edges.findLastIndex((from) => intervals >= from)]
  if (bucket !== undefined) bucket[key] += bytes
}

/**
 * The rows of `fine` that hold the addresses of rows [box.r0, box.r1) of `grid`, by kind, mapping and offset, each with
 * its bytes that are selected.
 */
export function selectedParts(grid: HeatGrid, box: Pick<Box, 'r0' | 'r1'>, fine: HeatGrid): SelectedPart[] {
  const chosen = new Map<string, { from: number; to: number }[]>()
  for (const row of grid.rows.slice(Math.max(0, Math.floor(box.r0)), Math.ceil(box.r1))) {
    const key = `${row.kind}\u0000${row.mapping}`
    const stretches = chosen.get(key) ?? []
    stretches.push({ from: row.offsetBytes, to: row.offsetBytes + row.sizeBytes })
    chosen.set(key, stretches)
  }
  return fine.rows.flatMap((row, index) => {
    const end = row.offsetBytes + row.sizeBytes
    const bytes = (chosen.get(`${row.kind}\u0000${row.mapping}`) ?? []).reduce(
      (sum, { from, to }) => sum + Math.max(0, Math.min(to, end) - Math.max(from, row.offsetBytes)),
      0,
    )
    return bytes > 0 ? [{ row: index, bytes }] : []
  })
}

/**
 * Ages and re-access of selected addresses from their cells in the selected time. A row counts as active where any part
 * of it is, so its bytes are as old as its youngest part. After an unknown cell, in which the memory may have been
 * accessed, its age is a bound, and the gap is left out. Null where the selection covers no cell of this grid.
 */
export function selectionAges(
  fine: HeatGrid,
  parts: SelectedPart[],
  box: Pick<Box, 't0' | 't1'>,
  intervalSeconds: number,
): SelectionAges | null {
  const columns = selectedColumns(fine, { ...box, r0: 0, r1: 1 })
  const last = columns.at(-1)
  if (last === undefined || parts.length === 0) return null
  const ends = fine.columnEnds
  const width = ends.length
  const apart = (from: number, to: number): number =>
    Math.round(((ends[to] ?? 0) - (ends[from] ?? 0)) / intervalSeconds)
  const [ages, gaps] = [emptyBuckets(), emptyBuckets()]
  let [resident, unknown, known, all] = [0, 0, 0, 0]
  for (const { row, bytes } of parts) {
    let touched: number | null = null
    let observed: number | null = null
    let isWhole = true
    for (const column of columns) {
      const code = fine.cells[row * width + column] ?? 255
      if (code !== cellNotResident) all += bytes
      if (code > cellMaximum) {
        // What is freed and mapped again begins anew.
        if (code === cellNotResident) touched = null
        ;[observed, isWhole] = [null, false]
        continue
      }
      known += bytes
      observed ??= column
      if (code === 0) continue
      if (touched !== null && isWhole) add(gaps, apart(touched, column), 'seenBytes', bytes)
      ;[touched, isWhole] = [column, true]
    }
    const newest = fine.cells[row * width + last] ?? 255
    if (newest === cellNotResident) continue
    resident += bytes
    if (newest > cellMaximum) unknown += bytes
    else if (touched !== null && isWhole) {
      add(ages, apart(touched, last), 'seenBytes', bytes)
      if (touched !== last) add(gaps, apart(touched, last) + 1, 'boundBytes', bytes)
    } else add(ages, apart(observed ?? last, last) + 1, 'boundBytes', bytes)
  }
  return {
    ages,
    gaps,
    residentBytes: resident,
    unknownBytes: unknown,
    knownShare: all === 0 ? 0 : known / all,
    columns: columns.length,
  }
}

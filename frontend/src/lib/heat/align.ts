import type { HeatRaster, HeatRow } from './heatGrid'

/** A row or column of a grid with its weight: bytes or seconds. */
export interface Part {
  index: number
  weight: number
}

/**
 * A stretch of one axis that both sides can be taken over: what each side has there, and `places`, the rows or columns
 * of the aligned raster that it is drawn at. Where a side has no parts, it has nothing there.
 */
export interface Bin {
  now: Part[]
  then: Part[]
  places: number[]
}

interface Stretch {
  index: number
  from: number
  to: number
}

const inOrder = (stretches: Stretch[]): Stretch[] => [...stretches].sort((a, b) => a.from - b.from)

/** Those of the stretches, which follow each other, that overlap one. */
function overlaps(one: Stretch, others: Stretch[]): Stretch[] {
  let [low, high] = [0, others.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((others[middle]?.to ?? Infinity) > one.from) high = middle
    else low = middle + 1
  }
  let end = low
  while ((others[end]?.from ?? Infinity) < one.to) end += 1
  return others.slice(low, end)
}

const largest = (stretches: Stretch[]): number => stretches.reduce((most, { from, to }) => Math.max(most, to - from), 0)

/**
 * Bins of one axis, at the coarser raster of both, so that a fine cell is never set against the mean of a coarse one.
 * Stretches that only the other side has come last, without places.
 */
function binStretches(now: Stretch[], then: Stretch[]): { bins: Bin[]; onlyThen: Stretch[] } {
  const whole = (stretch: Stretch): Part => ({ index: stretch.index, weight: stretch.to - stretch.from })
  const bins: Bin[] = []
  const met = new Set<number>()
  const [present, past] = [inOrder(now), inOrder(then)]
  if (largest(then) > largest(now) * 1.001) {
    const left = new Set(now)
    for (const coarse of then) {
      const inside = overlaps(coarse, present).filter((fine) => {
        const middle = (fine.from + fine.to) / 2
        return middle > coarse.from && middle < coarse.to
      })
      if (inside.length === 0) continue
      met.add(coarse.index)
      inside.forEach((fine) => left.delete(fine))
      bins.push({ now: inside.map(whole), then: [whole(coarse)], places: inside.map(({ index }) => index) })
    }
    for (const alone of left) bins.push({ now: [whole(alone)], then: [], places: [alone.index] })
  } else {
    for (const one of now) {
      const parts = overlaps(one, past).map(({ index, from, to }) => ({
        index,
        weight: Math.min(to, one.to) - Math.max(from, one.from),
      }))
      parts.forEach(({ index }) => met.add(index))
      bins.push({ now: [whole(one)], then: parts, places: [one.index] })
    }
  }
  return { bins, onlyThen: then.filter(({ index }) => !met.has(index)) }
}

/** Bins of columns, those of `then` moved later by `shiftSeconds`. */
export function alignColumns(now: HeatRaster, then: HeatRaster, shiftSeconds: number): Bin[] {
  const stretches = (raster: HeatRaster, shift: number): Stretch[] =>
    raster.columnEnds.map((end, index) => ({ index, from: end - raster.columnSeconds + shift, to: end + shift }))
  return binStretches(stretches(now, 0), stretches(then, shiftSeconds)).bins
}

const mappingOf = (row: HeatRow): string => `${row.kind}\u0000${row.mapping}`

function byMapping(rows: HeatRow[]): Map<string, Stretch[]> {
  const found = new Map<string, Stretch[]>()
  rows.forEach((row, index) => {
    const stretch = { index, from: row.offsetBytes, to: row.offsetBytes + row.sizeBytes }
    const known = found.get(mappingOf(row))
    if (known === undefined) found.set(mappingOf(row), [stretch])
    else known.push(stretch)
  })
  return found
}

/** Bins of rows by mapping and offset, and the rows of the aligned raster. */
export interface AlignedRows {
  bins: Bin[]
  /** All rows of `now` where they were, then those that `then` alone has. */
  rows: HeatRow[]
}

/**
 * Match rows by kind, mapping and offset. The rows of `now` keep their places, so that a view or selection of its grid
 * is the same here; rows that `then` alone has follow after them.
 */
export function alignRows(now: HeatRaster, then: HeatRaster): AlignedRows {
  const [present, past] = [byMapping(now.rows), byMapping(then.rows)]
  const rows = [...now.rows]
  const bins: Bin[] = []
  const gone: Stretch[] = []
  for (const [mapping, stretches] of present) {
    const matched = binStretches(stretches, past.get(mapping) ?? [])
    bins.push(...matched.bins)
    gone.push(...matched.onlyThen)
  }
  for (const [mapping, stretches] of past) if (!present.has(mapping)) gone.push(...stretches)
  for (const { index, from, to } of gone.sort((a, b) => a.index - b.index)) {
    const row = then.rows[index]
    if (row === undefined) continue
    bins.push({ now: [], then: [{ index, weight: to - from }], places: [rows.length] })
    rows.push(row)
  }
  return { bins, rows }
}

import type { Box } from '../url/urlState'

/** Limits of the view: the time range of the page, and all rows of the epoch. */
export type Extent = Box

const fewestRows = 4
const fewestSeconds = 60

function clampSpan(low: number, high: number, min: number, max: number, fewest: number): [number, number] {
  const span = Math.min(Math.max(high - low, fewest), max - min)
  const start = Math.min(Math.max(low, min), max - span)
  return [start, start + span]
}

/** The box moved and shrunk so that it lies within the extent and is never smaller than a minute by four rows. */
export function clampBox(box: Box, extent: Extent): Box {
  const [t0, t1] = clampSpan(box.t0, box.t1, extent.t0, extent.t1, fewestSeconds)
  const [r0, r1] = clampSpan(box.r0, box.r1, extent.r0, extent.r1, Math.min(fewestRows, extent.r1 - extent.r0))
  return { t0, t1, r0, r1 }
}

/** The box scaled around its middle: a factor below 1 zooms in. */
export function zoomBox(box: Box, factor: number, extent: Extent): Box {
  const scale = (low: number, high: number): [number, number] => {
    const middle = (low + high) / 2
    const half = ((high - low) / 2) * factor
    return [middle - half, middle + half]
  }
  const [t0, t1] = scale(box.t0, box.t1)
  const [r0, r1] = scale(box.r0, box.r1)
  return clampBox({ t0, t1, r0, r1 }, extent)
}

/** The box moved by shares of its own size; positive is later and further down. */
export function panBox(box: Box, timeShare: number, rowShare: number, extent: Extent): Box {
  const seconds = (box.t1 - box.t0) * timeShare
  const rows = (box.r1 - box.r0) * rowShare
  return clampBox({ t0: box.t0 + seconds, t1: box.t1 + seconds, r0: box.r0 + rows, r1: box.r1 + rows }, extent)
}

/** True where the box shows everything, so that the URL needs no zoom. */
export function isWhole(box: Box, extent: Extent): boolean {
  return box.t0 <= extent.t0 && box.t1 >= extent.t1 && box.r0 <= extent.r0 && box.r1 >= extent.r1
}

/**
 * The time range to fetch for a view: half a view more on each side, on a coarse grid, so that small pans need no
 * request. Never beyond the extent.
 */
export function fetchRange(box: Box, extent: Extent): { t0: number; t1: number } {
  const span = box.t1 - box.t0
  const grid = Math.max(60, 2 ** Math.floor(Math.log2(span / 2)))
  return {
    t0: Math.max(extent.t0, Math.floor((box.t0 - span / 2) / grid) * grid),
    t1: Math.min(extent.t1, Math.ceil((box.t1 + span / 2) / grid) * grid),
  }
}

/** Rows that a heatmap shows apart on an ordinary screen; more are merged to so many. */
const shownRows = 512
const finestRows = 1024

/** The rows to fetch for a view, null for all: every row once a zoom leaves no more of them than a screen shows apart. */
export function fetchRows(box: Box | null): number {
  return box === null || box.r1 - box.r0 > shownRows ? shownRows : finestRows
}

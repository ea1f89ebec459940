import type { HeatGrid, HeatRow } from '../lib/heat/heatGrid'

/** A grid of shares of one host: columns of a minute from second 0, a code per cell, row by row; code 1 is 10 %. */
export function shareGrid(rows: HeatRow[], cells: number[], more: Partial<HeatGrid> = {}): HeatGrid {
  const columns = Array.from({ length: cells.length / Math.max(1, rows.length) }, (_, index) => index)
  return {
    hostId: 'h',
    group: 'g',
    groups: ['g'],
    hosts: ['h'],
    backend: 'abit_walk',
    granularity: 'page',
    window: { start: '2026-11-21T00:00:00Z', end: '2026-11-21T02:00:00Z' },
    columnSeconds: 60,
    columnEnds: columns.map((index) => (index + 1) * 60),
    regionBytes: 4096,
    rowsPerCell: 1,
    measure: 'active_share',
    unit: 0.1,
    base: 2,
    rows,
    cells: Uint8Array.from(cells),
    knownShare: columns.map(() => 1),
    notes: [],
    epochIds: ['e1'],
    ...more,
  }
}

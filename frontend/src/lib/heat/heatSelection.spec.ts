import { describe, expect, it } from 'vitest'
import { activityCode, cellActivity, cellState, type HeatGrid } from './heatGrid'
import { summariseSelection } from './heatSelection'
import { selectedParts, selectionAges, type IntervalBytes } from './selectionAges'

const grid: HeatGrid = {
  hostId: 'h',
  group: 'g',
  groups: ['g'],
  hosts: ['h'],
  backend: 'abit_walk',
  granularity: 'page',
  window: { start: '2026-11-21T00:00:00Z', end: '2026-11-21T00:03:00Z' },
  columnSeconds: 60,
  columnEnds: [60, 120, 180],
  regionBytes: 4096,
  rowsPerCell: 1,
  measure: 'active_share',
  unit: 0.01,
  base: 2,
  rows: [
    { kind: 'anon', mapping: 'heap', offsetBytes: 0, sizeBytes: 4096 },
    { kind: 'anon', mapping: 'heap', offsetBytes: 4096, sizeBytes: 4096 },
    { kind: 'file', mapping: 'lib', offsetBytes: 0, sizeBytes: 8192 },
  ],
  cells: Uint8Array.from([0, 1, 3, 0, 255, 2, 254, 253, 255]),
  knownShare: [1, 1, 1],
  notes: [],
  epochIds: ['e1'],
}

describe('cells', () => {
  it('mean what the contract says', () => {
    expect([0, 1, 250, 253, 254, 255].map(cellState)).toEqual([
      'idle',
      'active',
      'active',
      'unsampled',
      'not resident',
      'not collected',
    ])
    expect(cellActivity(grid, 0)).toBe(0)
    expect(cellActivity(grid, 3)).toBeCloseTo(0.04)
    expect(cellActivity(grid, 254)).toBeNull()
    expect(activityCode(grid, 0.04)).toBeCloseTo(3)
  })
})

describe('a selection', () => {
  it('adds up to one over the kinds of cells', () => {
    const summary = summariseSelection(grid, { t0: 0, t1: 180, r0: 0, r1: 3 })
    expect(summary).toMatchObject({ rows: 3, columns: 3, bytes: 16384, startSeconds: 0, endSeconds: 180 })
    const shares = [
      summary?.activeShare,
      summary?.idleShare,
      summary?.unsampledShare,
      summary?.notResidentShare,
      summary?.notCollectedShare,
    ]
    expect(shares.reduce((sum: number, share) => sum + (share ?? 0), 0)).toBeCloseTo(1)
    expect(summary?.notCollectedShare).toBeCloseTo((4096 + 8192) / (3 * 16384))
  })

  it('weights activity by bytes and leaves unknown cells out', () => {
    const summary = summariseSelection(grid, { t0: 60, t1: 180, r0: 0, r1: 2 })
    expect(summary?.meanActivity).toBeCloseTo((0.01 + 0.04 + 0.02) / 3)
    expect(summary?.peakActivity).toBeCloseTo(0.04)
  })

  it('has no activity where nothing is known', () => {
    expect(summariseSelection(grid, { t0: 0, t1: 180, r0: 2, r1: 3 })?.meanActivity).toBeNull()
  })

  it('names each mapping once with the stretch it covers', () => {
    expect(summariseSelection(grid, { t0: 0, t1: 60, r0: 0, r1: 3 })?.mappings).toEqual([
      { kind: 'anon', mapping: 'heap', fromBytes: 0, toBytes: 8192 },
      { kind: 'file', mapping: 'lib', fromBytes: 0, toBytes: 8192 },
    ])
  })

  it('outside the grid is none', () => {
    expect(summariseSelection(grid, { t0: 900, t1: 960, r0: 0, r1: 1 })).toBeNull()
    expect(summariseSelection(grid, { t0: 0, t1: 60, r0: 7, r1: 9 })).toBeNull()
  })
})

describe('ages and re-access of exactly the selected addresses', () => {
  const of = (...rows: number[][]): HeatGrid => {
    const columns = rows[0]?.length ?? 0
    return {
      ...grid,
      columnEnds: Array.from({ length: columns }, (_, index) => (index + 1) * 60),
      rows: rows.map((_, index) => ({ kind: 'anon', mapping: 'heap', offsetBytes: index * 100, sizeBytes: 100 })),
      cells: Uint8Array.from(rows.flat()),
    }
  }
  const all = { t0: 0, t1: 1e4, r0: 0, r1: 100 }
  const told = (fine: HeatGrid, box = all) => selectionAges(fine, selectedParts(fine, box, fine), box, 60)
  const filled = (buckets: IntervalBytes[] | undefined) =>
    buckets
      ?.filter(({ seenBytes, boundBytes }) => seenBytes + boundBytes > 0)
      .map(({ fromIntervals, seenBytes, boundBytes }) => [fromIntervals, seenBytes, boundBytes])

  it('are the intervals since each row was last active, weighted by its bytes', () => {
    const found = told(of([5, 0, 0, 0], [0, 0, 0, 5], [0, 0, 5, 0]))
    expect(filled(found?.ages)).toEqual([
      [0, 100, 0],
      [1, 100, 0],
      [3, 100, 0],
    ])
  })

  it('are bounds where the selection holds no activity, or none is known since', () => {
    expect(filled(told(of([0, 0, 0, 0], [5, 253, 0, 0]))?.ages)).toEqual([
      [2, 0, 100],
      [3, 0, 100],
    ])
  })

  it('leave out what is not known or not resident at the end, and say how much was observed', () => {
    expect(told(of([5, 253], [5, 254], [5, 5]))).toMatchObject({
      residentBytes: 200,
      unknownBytes: 100,
      knownShare: 0.8,
    })
  })

  it('count every re-access by its gap, and idle memory that was not accessed again as a bound', () => {
    const found = told(of([5, 0, 5, 5, 0, 0], [5, 253, 5, 0, 0, 0]))
    expect(filled(found?.gaps)).toEqual([
      [1, 100, 0],
      [2, 100, 0],
      [3, 0, 200],
    ])
  })

  it('are of the selected columns and rows alone', () => {
    const two = of([5, 0, 5], [5, 5, 5])
    expect(filled(told(two, { ...all, t1: 120, r1: 1 })?.ages)).toEqual([[1, 100, 0]])
    expect(told(two, { ...all, t0: 9000 })).toBeNull()
  })

  it('are taken from finer rows at the same offsets, by the bytes that are selected', () => {
    const coarse = { ...of([5]), rows: [{ kind: 'anon' as const, mapping: 'heap', offsetBytes: 150, sizeBytes: 100 }] }
    const fine = of([5], [5], [5])
    expect(selectedParts(coarse, all, fine)).toEqual([
      { row: 1, bytes: 50 },
      { row: 2, bytes: 50 },
    ])
  })
})

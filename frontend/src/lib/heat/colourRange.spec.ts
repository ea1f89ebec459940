import { expect, it } from 'vitest'
import { shareGrid } from '../../mock-api/grids'
import { colourRange, wholeRange } from './colourRange'
import type { HeatGrid } from './heatGrid'

/** One row of 100 columns of a minute. */
function gridOf(codes: number[]): HeatGrid {
  return shareGrid([{ kind: 'anon', mapping: 'heap', offsetBytes: 0, sizeBytes: 4096 }], codes, { unit: 0.01 })
}

const all = { t0: 0, t1: 6000, r0: 0, r1: 1 }

it('leaves the extremes out, unless the full range is asked for', () => {
  const grid = gridOf([1, ...Array.from({ length: 98 }, (_, index) => 100 + index), 250])
  expect(colourRange(grid, all, false)).toEqual({ low: 100, high: 196, cutsLow: true, cutsHigh: true })
  expect(colourRange(grid, all, true)).toEqual({ low: 1, high: 250, cutsLow: false, cutsHigh: false })
})

it('is that of the cells in view alone, and counts no cell without activity', () => {
  const grid = gridOf([0, 253, 254, 255, 10, 20, 200, 210])
  expect(colourRange(grid, { ...all, t1: 360 }, false)).toMatchObject({ low: 10, high: 20, cutsHigh: false })
  expect(colourRange(grid, { ...all, t0: 360 }, false)).toMatchObject({ low: 200, high: 210 })
})

it('has two ends where all cells are alike, and all codes where none is active', () => {
  expect(colourRange(gridOf([7, 7]), all, false)).toMatchObject({ low: 6, high: 7 })
  expect(colourRange(gridOf([0, 255]), all, false)).toEqual(wholeRange)
})

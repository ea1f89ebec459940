import { describe, expect, it } from 'vitest'
import { shareGrid } from '../../mock-api/grids'
import { alignColumns, alignRows } from './align'
import {
  compared,
  differenceState,
  notCollected,
  notResident,
  notSampled,
  onlyNow,
  onlyThen,
  sideAbsent,
  sideKnown,
  sideNotCollected,
  sideUnsampled,
  subtractGrids,
  whyIncomparable,
} from './difference'
import { changeLimit, differenceSentence, summariseDifference } from './differenceSummary'
import type { HeatGrid, HeatRow } from './heatGrid'

const page = 4096

/** Rows of a mapping, each `pages` long, from `first` on. */
const stretch = (mapping: string, count: number, pages = 1, first = 0): HeatRow[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: 'anon',
    mapping,
    offsetBytes: (first + index * pages) * page,
    sizeBytes: pages * page,
  }))

/** A grid of columns of a minute that end at `last`; codes 1, 2, 3, 4 stand for 10, 20, 40 and 80 %. */
function gridOf(rows: HeatRow[], cells: number[][], last = 7200, columnSeconds = 60): HeatGrid {
  const count = cells[0]?.length ?? 0
  const columnEnds = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * columnSeconds)
  const knownShare = columnEnds.map(() => 1)
  return shareGrid(rows, cells.flat(), { columnSeconds, columnEnds, knownShare })
}

const all = { t0: 0, t1: 1e6, r0: 0, r1: 100 }
const rounded = (values: Float32Array): number[] => [...values].map((value) => Math.round(value * 1000) / 1000)

describe('aligning two grids', () => {
  it('sets columns against those that are earlier by the shift, and nothing against missing ones', () => {
    const now = gridOf(stretch('heap', 1), [[1, 1, 1]])
    const then = gridOf(stretch('heap', 1), [[1, 1]], 3600)
    expect(alignColumns(now, then, 3600).map((bin) => bin.then.map(({ index }) => index))).toEqual([[], [0], [1]])
  })

  it('sets rows against those of the same mapping at the same offset, wherever they are listed', () => {
    const now = gridOf([...stretch('heap', 2), ...stretch('lib', 1)], [[1], [1], [1]])
    const then = gridOf([...stretch('lib', 1), ...stretch('heap', 1, 1, 1), ...stretch('gone', 1)], [[1], [1], [1]])
    const { bins, rows } = alignRows(now, then)
    const matched = bins.map((bin) => [bin.places, bin.then.map(({ index }) => index)])
    expect(matched).toEqual([
      [[0], []],
      [[1], [1]],
      [[2], [0]],
      [[3], [2]],
    ])
    expect(rows.map(({ mapping }) => mapping)).toEqual(['heap', 'heap', 'lib', 'gone'])
  })

  it('never sets a fine cell against the mean of a coarse one: both are taken over the coarse one', () => {
    const fine = gridOf(stretch('heap', 2), [[1], [3]])
    const coarse = gridOf(stretch('heap', 1, 2), [[2]])
    expect(rounded(subtractGrids(fine, coarse, 0).change)).toEqual([0.05, 0.05])
    expect(rounded(subtractGrids(coarse, fine, 0).change)).toEqual([-0.05])
    const minutes = gridOf(stretch('heap', 1), [[1, 3, 4, 4]])
    const twoMinutes = gridOf(stretch('heap', 1), [[2, 4]], 7200, 120)
    expect(rounded(subtractGrids(minutes, twoMinutes, 0).change)).toEqual([0.05, 0.05, 0, 0])
    expect(rounded(subtractGrids(twoMinutes, minutes, 0).change)).toEqual([-0.05, 0])
  })

  it('weights what a coarse cell holds by how much of it lies there', () => {
    const now = gridOf(stretch('heap', 1, 3), [[1]])
    const then = gridOf([...stretch('heap', 1, 1), ...stretch('heap', 1, 2, 1)], [[1], [3]])
    expect(rounded(subtractGrids(now, then, 0).change)).toEqual([-0.2])
  })
})

describe('the difference', () => {
  it('is now minus then, each by its own scale', () => {
    const now = gridOf(stretch('heap', 1), [[0, 2, 3]])
    const then = { ...gridOf(stretch('heap', 1), [[1, 0, 3]], 3600), unit: 0.05 }
    const difference = subtractGrids(now, then, 3600)
    expect(rounded(difference.change)).toEqual([-0.05, 0.2, 0.2])
    expect([...difference.state]).toEqual([compared, compared, compared])
  })

  it('is none where a side was not sampled, never zero', () => {
    const now = gridOf(stretch('heap', 1), [[1, 1, 1, 253, 254, 254, 255, 253]])
    const then = gridOf(stretch('heap', 1), [[253, 254, 255, 1, 1, 254, 1, 254]])
    const difference = subtractGrids(now, then, 0)
    expect([...difference.state]).toEqual([
      notSampled,
      onlyNow,
      notCollected,
      notSampled,
      onlyThen,
      notResident,
      notCollected,
      onlyNow,
    ])
    expect([...difference.change].every(Number.isNaN)).toBe(true)
  })

  it('tells rows that one side alone has, and those of a column that was not collected', () => {
    const now = gridOf(
      [...stretch('heap', 1), ...stretch('new', 1)],
      [
        [1, 1],
        [2, 2],
      ],
    )
    const then = gridOf(
      [...stretch('heap', 1), ...stretch('old', 1)],
      [
        [255, 1],
        [255, 3],
      ],
    )
    const difference = subtractGrids(now, then, 0)
    expect(difference.raster.rows.map(({ mapping }) => mapping)).toEqual(['heap', 'new', 'old'])
    expect([...difference.state]).toEqual([notCollected, compared, notCollected, onlyNow, notCollected, onlyThen])
    expect(difference.raster.knownShare).toEqual([0, 1 / 3])
  })

  it('has a state for every pair of sides, and a value for one alone', () => {
    const sides = [sideKnown, sideUnsampled, sideAbsent, sideNotCollected]
    const states = sides.flatMap((now) => sides.map((then) => differenceState(now, then)))
    expect(states.filter((state) => state === compared)).toHaveLength(1)
    expect(differenceState(sideUnsampled, sideAbsent)).toBe(onlyNow)
    expect(differenceState(sideAbsent, sideNotCollected)).toBe(notCollected)
  })

  it('says when unnamed memory need not be the same, and when methods differ', () => {
    const now = gridOf(stretch('anon-1', 1), [[1]])
    expect(subtractGrids(now, now, 0).notes).toEqual([])
    expect(subtractGrids(now, { ...now, epochIds: ['e0'] }, 0).notes).toHaveLength(1)
    expect(subtractGrids(now, { ...now, hostId: 'other', backend: 'damon_pages' }, 0).notes).toHaveLength(2)
  })

  it('is refused where the sides measure different things', () => {
    const now = gridOf(stretch('heap', 1), [[1]])
    expect(whyIncomparable(now, now)).toBeNull()
    expect(whyIncomparable(now, { ...now, measure: 'accesses_per_byte' })).toContain('accesses_per_byte')
    expect(whyIncomparable(now, { ...now, rows: [] })).not.toBeNull()
  })
})

describe('a difference summed up', () => {
  const words = { other: '1 hour before', than: '1 hour before', now: 'now', then: 'then' }
  const now = gridOf([...stretch('heap', 1, 3), ...stretch('lib', 1, 1), ...stretch('new', 1, 4)], [[3], [1], [1]])
  const then = gridOf([...stretch('heap', 1, 3), ...stretch('lib', 1, 1)], [[2], [3]], 3600)
  const difference = subtractGrids(now, then, 3600)

  it('weights cells by bytes and counts what can be compared alone', () => {
    const summary = summariseDifference(difference, all)
    expect(summary).toMatchObject({ comparedShare: 0.5, hotterShare: 0.75, colderShare: 0.25, onlyNowShare: 0.5 })
    expect(summary.meanNow).toBeCloseTo((0.4 * 3 + 0.1) / 4)
    expect(summary.meanThen).toBeCloseTo((0.2 * 3 + 0.4) / 4)
    expect(differenceSentence(summary, 'active_share', words)).toBe(
      '75 % of the compared memory is hotter than 1 hour before and 25 % colder, by more than 5 points; mean activity ' +
        '25 % then, 33 % now. 50 % of the memory in view was sampled on both sides, 50 % is only now.',
    )
  })

  it('is that of the rows in view', () => {
    expect(summariseDifference(difference, { ...all, r0: 1, r1: 2 })).toMatchObject({ hotterShare: 0, colderShare: 1 })
  })

  it('has no shares where nothing can be compared, and says so', () => {
    const summary = summariseDifference(difference, { ...all, r0: 2 })
    expect(summary).toMatchObject({ comparedShare: 0, hotterShare: null, meanNow: null })
    expect(differenceSentence(summary, 'active_share', words)).toMatch(/^Nothing in view can be compared/)
  })

  it('does not count small changes', () => {
    const small = subtractGrids({ ...now, unit: 0.01 }, { ...then, unit: 0.01 }, 3600)
    expect(summariseDifference(small, all)).toMatchObject({ hotterShare: 0, colderShare: 0 })
  })

  it('is coloured up to its largest change, or leaves the largest 2 % out', () => {
    expect(changeLimit(difference, all, true)).toBeCloseTo(0.3)
    const rows = stretch('heap', 100)
    const spread = subtractGrids(
      gridOf(
        rows,
        rows.map((_, row) => [row === 0 ? 4 : 2]),
      ),
      gridOf(
        rows,
        rows.map(() => [1]),
      ),
      0,
    )
    expect(changeLimit(spread, all, false)).toBeCloseTo(0.1)
    expect(changeLimit(spread, all, true)).toBeCloseTo(0.7)
  })
})

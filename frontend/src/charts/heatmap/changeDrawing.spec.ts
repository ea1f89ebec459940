import { expect, it } from 'vitest'
import { subtractGrids } from '../../lib/heat/difference'
import type { HeatGrid } from '../../lib/heat/heatGrid'
import { chartThemes } from '../../lib/palette'
import { shareGrid } from '../../mock-api/grids'
import { changeBlock, changeDrawing } from './changeDrawing'

/** Rows of a page each, over columns of a minute; codes 1, 2 and 3 stand for 10, 20 and 40 %. */
function gridOf(mappings: string[], cells: number[][]): HeatGrid {
  const rows = mappings.map((mapping) => ({ kind: 'anon', mapping, offsetBytes: 0, sizeBytes: 4096 }) as const)
  return shareGrid(rows, cells.flat())
}

const now = gridOf(
  ['heap', 'new'],
  [
    [3, 0, 253, 1],
    [1, 1, 1, 1],
  ],
)
const then = gridOf(
  ['heap', 'old'],
  [
    [1, 1, 1, 255],
    [1, 1, 1, 255],
  ],
)
const words = { other: 'redis-2', than: 'on redis-2', now: 'here', then: 'on redis-2' }
const difference = subtractGrids(now, then, 0)
const drawing = changeDrawing(difference, changeBlock(difference), 0.3, chartThemes.light, { bar: true, words })

it('draws changes on a scale that is the same both ways, in a unit', () => {
  const [change] = drawing.layers as unknown as {
    z: (number | null)[][]
    zmin: number
    zmax: number
    colorbar: { title: { text: string }; ticktext: string[] }
  }[]
  expect(change?.z[0]?.map((value) => (value === null ? null : Math.round(value * 100) / 100))).toEqual([
    0.3,
    -0.1,
    null,
    null,
  ])
  expect([change?.zmin, change?.zmax]).toEqual([-0.3, 0.3])
  expect(change?.colorbar.title.text).toBe('change of active share of bytes per interval, percentage points')
  expect(change?.colorbar.ticktext).toEqual(['≤ −30', '−15', '0', '+15', '≥ +30'])
})

it('never draws a cell without a difference in the colour of no change', () => {
  const [change, states] = drawing.layers as unknown as { z: (number | null)[][] }[]
  expect(change?.z.slice(1).flat()).toEqual(Array.from({ length: 8 }, () => null))
  expect(states?.z).toEqual([
    [null, null, 1, null],
    [2, 2, 2, null],
    [3, 3, 3, null],
  ])
})

it('reads both sides of a cell', () => {
  expect(drawing.read(0, 0)).toEqual(['+30 points', '10 % on redis-2, 40 % here (active share of bytes per interval)'])
  expect(drawing.read(0, 1)[1]).toContain('10 % on redis-2, idle here')
  expect(drawing.read(0, 2)[0]).toBe('unsampled on a side')
  expect(drawing.read(1, 0)[0]).toBe('only here')
  expect(drawing.read(2, 0)[0]).toBe('only on redis-2')
  expect(drawing.read(0, null)).toEqual(['not collected'])
})

it('writes words into the table where there is no difference', () => {
  const { rows } = drawing.table()
  expect(rows[0]?.slice(6)).toEqual(['unsampled on a side', 'not collected'])
  expect(rows[2]?.[1]).toBe('old')
})

import { describe, expect, it } from 'vitest'
import { clampBox, fetchRange, fetchRows, isWhole, panBox, zoomBox } from './heatView'

const extent = { t0: 0, t1: 36_000, r0: 0, r1: 1000 }
const view = { t0: 10_000, t1: 20_000, r0: 200, r1: 400 }

describe('the view of the heatmap', () => {
  it('never leaves the extent, however it is moved', () => {
    for (const [time, row] of [
      [9, 9],
      [-9, -9],
      [9, -9],
    ] as const) {
      const moved = panBox(view, time, row, extent)
      expect(moved.t0).toBeGreaterThanOrEqual(extent.t0)
      expect(moved.t1).toBeLessThanOrEqual(extent.t1)
      expect(moved.r0).toBeGreaterThanOrEqual(extent.r0)
      expect(moved.r1).toBeLessThanOrEqual(extent.r1)
      expect(moved.t1 - moved.t0).toBe(10_000)
      expect(moved.r1 - moved.r0).toBe(200)
    }
  })

  it('zooms around its middle', () => {
    expect(zoomBox(view, 0.5, extent)).toEqual({ t0: 12_500, t1: 17_500, r0: 250, r1: 350 })
  })

  it('stops at a minute by four rows, and at the whole extent', () => {
    const close = zoomBox(view, 1e-6, extent)
    expect(close.t1 - close.t0).toBe(60)
    expect(close.r1 - close.r0).toBe(4)
    expect(isWhole(zoomBox(view, 1e6, extent), extent)).toBe(true)
  })

  it('copes with fewer rows than the smallest view', () => {
    expect(clampBox({ t0: 0, t1: 100, r0: 0, r1: 1 }, { t0: 0, t1: 100, r0: 0, r1: 2 })).toEqual({
      t0: 0,
      t1: 100,
      r0: 0,
      r1: 2,
    })
  })

  it('fetches more than it shows, and the same for small pans', () => {
    const range = fetchRange(view, extent)
    expect(range.t0).toBeLessThan(view.t0)
    expect(range.t1).toBeGreaterThan(view.t1)
    expect(fetchRange({ ...view, t0: view.t0 + 5, t1: view.t1 + 5 }, extent)).toEqual(range)
  })

  it('fetches every row once a zoom leaves so few that a screen shows them apart', () => {
    expect(fetchRows(null)).toBe(512)
    expect(fetchRows({ ...view, r0: 0, r1: 1000 })).toBe(512)
    expect(fetchRows({ ...view, r0: 200, r1: 712 })).toBe(1024)
  })
})

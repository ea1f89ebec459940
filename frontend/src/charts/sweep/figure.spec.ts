import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { lossRange, sweepFigure } from './figure'

const theme = chartThemes.dark

describe('the sweep over DRAM shares', () => {
  it('keeps the target in sight, however great losses get', () => {
    expect(lossRange(0.01, [0.9, 0.001])).toBeCloseTo(0.06)
    expect(lossRange(0.05, [0.01])).toBeCloseTo(0.07875)
    expect(lossRange(0.1, [0.9])).toBeCloseTo(0.6)
  })

  it('tells ratios that keep the target from those that do not by their sign, and says why not', () => {
    const marks = sweepFigure(recorded('/v1/services/{service_id}/ratio', 'svc-redis'), theme).data[2] as {
      marker: { symbol: string[]; size: number[] }
      customdata: string[]
    }
    expect(marks.marker.symbol).toEqual(['circle', 'circle', 'circle', 'circle', 'x-thin', 'x-thin'])
    expect(marks.marker.size[3]).toBeGreaterThan(marks.marker.size[0] ?? 0)
    expect(marks.customdata[4]).toContain('above the target')
  })

  it('is empty where the advice was refused', () => {
    const figure = sweepFigure(recorded('/v1/services/{service_id}/ratio', 'svc-pg'), theme)
    expect(figure.table.rows).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { ratioWaterfallFigure, stepsOf } from './figure'
import type { RatioParts } from '../../api/_generated/schema'

const gib = 1024 ** 3
const { parts } = recorded('/v1/services/{service_id}/ratio', 'svc-redis') as { parts: RatioParts }

describe('what the DRAM of a ratio is made of', () => {
  it('hangs each part where the last one ended, and ends at the DRAM that is named', () => {
    const steps = stepsOf(parts)
    expect(steps.map(({ start }) => start).slice(1)).toEqual(steps.map(({ end }) => end).slice(0, -1))
    expect(steps.at(-1)?.end).toBeCloseTo(parts.dram_bytes, -2)
  })

  it('draws memory that may be on slow memory backwards, leaves out what is zero or not measured, and says so in its table', () => {
    const figure = ratioWaterfallFigure(parts, chartThemes.light)
    const [bar] = figure.data as { x: number[]; base: number[]; error_x: { array: number[]; arrayminus: number[] } }[]
    expect(bar?.x[1]).toBeLessThan(0)
    expect(bar?.x).toHaveLength(5)
    expect(figure.layout.yaxis?.ticktext?.join()).not.toContain('Growth')
    expect(figure.table.rows.find(([name]) => name === 'Moving set')?.[1]).toBeNull()
    expect(figure.table.rows.find(([name]) => name === 'Growth')?.[1]).toBe(0)
  })

  it('draws the ends of the answer on the total', () => {
    const [bar] = ratioWaterfallFigure(parts, chartThemes.dark).data as {
      error_x: { array: number[]; arrayminus: number[] }
    }[]
    expect(bar?.error_x.array.at(-2)).toBeNaN()
    expect(bar?.error_x.array.at(-1)).toBeCloseTo((parts.hi_bytes - parts.dram_bytes) / gib)
    expect(bar?.error_x.arrayminus.at(-1)).toBeCloseTo((parts.dram_bytes - parts.lo_bytes) / gib)
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes, costColours } from '../../lib/palette'
import { savingDistributionFigure } from './figure'

const found = {
  currency: 'USD',
  p10: -40,
  p50: 120,
  p90: 260,
  p_positive: 0.83,
  bins: [
    { lo: -100, hi: 0, n: 1700 },
    { lo: 0, hi: 100, n: 3300 },
    { lo: 100, hi: 300, n: 5000 },
  ],
  draws: 10_000,
  seed: 7,
}

describe('the distribution of a saving', () => {
  it('tells draws that save from those that cost more', () => {
    const figure = savingDistributionFigure(found, chartThemes.light)
    const [bars] = figure.data as { y: number[]; marker: { color: string[] } }[]
    expect(bars?.y).toEqual([17, 33, 50])
    expect(bars?.marker.color).toEqual([costColours.more, costColours.less, costColours.less])
  })

  it('marks the percentiles and zero', () => {
    const { shapes, annotations } = savingDistributionFigure(found, chartThemes.light).layout
    expect(shapes?.map(({ x0 }) => x0)).toEqual([0, -40, 120, 260])
    expect(annotations?.map(({ text }) => text)).toEqual(['p10 −$40.00', 'p50 +$120', 'p90 +$260'])
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { powerFigure } from './figure'

const theme = chartThemes.dark

describe('the power of an experiment', () => {
  it('falls with hosts, and marks the wanted effect and the chosen arm', () => {
    const figure = powerFigure(recorded('/v1/experiments/plan'), theme, 5)
    const [line] = figure.data as { x: number[]; y: number[] }[]
    expect(line?.x[0]).toBe(3)
    expect(line?.y[0]).toBeCloseTo(4.7)
    expect(figure.layout.shapes).toHaveLength(2)
    expect(figure.table.rows[1]).toEqual([5, expect.closeTo(0.0364, 3)])
  })

  it('marks no arm while the number of hosts is none', () => {
    expect(powerFigure(recorded('/v1/experiments/plan'), theme, NaN).layout.shapes).toHaveLength(1)
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes, heatColours } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { classOfKey, classSeries, classTimeFigure } from './figure'

const theme = chartThemes.light

describe('heat classes over time', () => {
  it('finds the class of a series by its key', () => {
    expect(['hot', 'anon.cold', 'resident', 'warm_bytes'].map(classOfKey)).toEqual(['hot', 'cold', null, 'warm'])
  })

  it('stacks cold below warm below hot, each in its colour', () => {
    const heat = recorded('/v1/services/{service_id}/heat')
    expect(classSeries(heat).map(({ name }) => name)).toEqual(['cold', 'warm', 'hot'])
    const bars = classTimeFigure(heat, theme, []).data.slice(2) as { name: string; marker: { color: string } }[]
    expect(bars.map((bar) => bar.marker.color)).toEqual([heatColours.cold, heatColours.warm, heatColours.hot])
  })

  it('leaves a hole where an interval is missing, in the plot and in the table', () => {
    const heat = recorded('/v1/services/{service_id}/heat')
    const missing = heat.series[0]?.values.findIndex((value) => value === null) ?? -1
    expect(missing).toBeGreaterThan(0)
    const figure = classTimeFigure(heat, theme, [])
    const bar = figure.data[2] as { y: (number | null)[] }
    expect(bar.y[missing]).toBeNull()
    expect(figure.table.rows[missing]?.slice(1)).toEqual([null, null, null])
  })

  it('leaves series of one page kind to their own view', () => {
    const heat = recorded('/v1/services/{service_id}/heat')
    const line = { key: 'anon.hot', label: 'anon hot', unit: 'bytes', values: heat.axis.times.map(() => 1) }
    expect(classSeries({ series: [line, ...heat.series] })).toHaveLength(3)
  })
})

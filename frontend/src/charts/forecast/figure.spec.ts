import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { forecastFigure, type ForecastDays } from './figure'

const gib = 2 ** 30
const days: ForecastDays = {
  label: 'checkout',
  unit: 'bytes',
  history: [
    { day: '2026-11-01', value: 50 * gib, excluded: 'change_point' },
    { day: '2026-11-02', value: null, excluded: null },
    { day: '2026-11-03', value: 80 * gib, excluded: null },
  ],
  forecast: [{ day: '2026-11-04', median: 82 * gib, lo80: 80 * gib, hi80: 84 * gib, lo95: -gib, hi95: 86 * gib }],
  changes: [{ at: '2026-11-02T00:00:00Z', before: 50 * gib, after: 80 * gib, event: 'deploy <b>v2</b>' }],
  threshold: 90 * gib,
}

describe('a forecast', () => {
  const figure = forecastFigure(days, chartThemes.light)
  const traces = figure.data as { y: (number | null)[]; customdata?: string[]; marker?: { symbol: string } }[]

  it('draws what is left out apart, with its reason, and a missing day as a gap', () => {
    expect(traces[2]?.y).toEqual([null, null, 80])
    expect(traces[3]?.y).toEqual([50, null, null])
    expect(traces[3]?.marker?.symbol).toBe('x-thin')
    expect(traces[3]?.customdata?.[0]).toContain('excluded: before a change point')
  })

  it('keeps bands from falling below nothing', () => {
    expect(traces[0]?.y).toEqual([86, 0])
  })

  it('marks where it is full, and changes with their event as text', () => {
    expect(figure.layout.shapes).toHaveLength(2)
    const [full, change] = figure.layout.annotations ?? []
    expect(full?.text).toBe('full at 90 GiB')
    expect(change?.hovertext).toContain('deploy &lt;b&gt;v2&lt;/b&gt;')
    expect(forecastFigure({ ...days, threshold: null }, chartThemes.light).layout.shapes).toHaveLength(1)
  })

  it('has all days in its table, in bytes', () => {
    expect(figure.table.rows[0]?.slice(0, 3)).toEqual(['2026-11-01', 50 * gib, 'before a change point'])
    expect(figure.table.rows[3]?.slice(0, 4)).toEqual(['2026-11-04', null, null, 82 * gib])
  })
})

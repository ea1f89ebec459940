import { expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { windowBarsFigure } from '../windowBars/figure'
import { ageHistogramFigure, bucketLabel, classOfAge } from './figure'

const heat = recorded('/v1/services/{service_id}/heat')
const recency = { name: 'recency', threshold_intervals: 2 } as const

it('colours ages by their class, and none that the scheme does not decide by age', () => {
  const classes = (of: Parameters<typeof classOfAge>[1], seen = true) =>
    heat.age_histogram.map((bucket) => classOfAge(bucket, of, seen)[0]).join('')
  expect(classes(recency)).toBe('hhwwwcccc')
  expect(classes(recency, false)).toBe('uuuuucccc')
  expect(classes({ name: 'cold_age', threshold_intervals: 5 })).toBe('hhhhccccc')
  expect(classes({ name: 'frequency', threshold_intervals: 5 })).toBe('uuuuuuuuu')
})

it('labels buckets by the ages they hold', () => {
  expect(heat.age_histogram.map(bucketLabel)).toEqual(['0', '1', '2', '3–4', '5–9', '10–19', '20–39', '40–63', '≥ 64'])
})

it('keeps bytes never seen active apart from those that were', () => {
  const figure = ageHistogramFigure(heat.age_histogram, recency, chartThemes.light)
  expect(figure.data.map((trace) => trace.name)).toEqual(['seen active', 'never seen active'])
  expect(figure.table.rows.at(-1)).toEqual([
    '≥ 64',
    'cold',
    heat.age_histogram.at(-1)?.active_bytes,
    heat.age_histogram.at(-1)?.never_bytes,
  ])
})

it('draws the bounds of each window, and no bar where there is no value', () => {
  const windows = heat.by_window.map((window, index) =>
    index === 3
      ? {
          ...window,
          active_ratio: { ...window.active_ratio, status: 'not_enough_data' as const, value: null, interval: null },
        }
      : window,
  )
  const bar = windowBarsFigure(windows, chartThemes.light).data[0] as {
    y: (number | null)[]
    error_y: { array: number[]; arrayminus: number[] }
  }
  expect(bar.y[3]).toBeNull()
  expect(bar.error_y.array[0]).toBeCloseTo(21 * 0.2)
  expect(bar.error_y.arrayminus[0]).toBeCloseTo(21 * 0.2)
  expect(bar.error_y.array[3]).toBe(0)
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { curveFigure, limitShare, lossAt } from './figure'

const theme = chartThemes.light
const answer = recorded('/v1/services/{service_id}/curve', 'svc-redis')
const advice = recorded('/v1/services/{service_id}/ratio', 'svc-redis')
const sweep = {
  dram_ratio: [0.2, 0.4, 0.6],
  share_on_slow: [0, 0, 0],
  loss_lower: [0.1, 0.05, 0.02],
  loss_median: [0.4, 0.2, 0.1],
  loss_upper: [0.8, 0.5, 0.1],
}

describe('what a DRAM share costs', () => {
  it('is read between the points of the sweep, and nowhere else', () => {
    expect(lossAt(sweep, 0.5)?.median).toBeCloseTo(0.15)
    expect(lossAt(sweep, 0.2)).toEqual({ median: 0.4, upper: 0.8 })
    expect(lossAt(sweep, 0.1)).toBeNull()
    expect(lossAt(sweep, 0.7)).toBeNull()
    expect(lossAt(null, 0.5)).toBeNull()
  })

  it('keeps the target from a share on, everywhere or nowhere', () => {
    expect(limitShare(sweep, 0.3)).toBe(0.6)
    expect(limitShare(sweep, 0.9)).toBe(0)
    expect(limitShare(sweep, 0.05)).toBeNull()
  })
})

describe('the curve of served accesses', () => {
  it('marks the advised ratio, and the area that may break the target', () => {
    const { layout } = curveFigure(answer, theme, advice)
    expect(layout.annotations?.map(({ text }) => text)).toEqual(['may lose more than 5 %', '<b>advised 1:1</b>'])
    expect(layout.shapes?.[2]).toMatchObject({ x0: 50, x1: 50 })
  })

  it('marks the likeliest ratio of a range, and none where that is all DRAM', () => {
    const early = recorded('/v1/services/{service_id}/ratio', 'svc-feed')
    const texts = (given: typeof early) => curveFigure(answer, theme, given).layout.annotations?.map(({ text }) => text)
    expect(texts(early)).toContain('<b>most likely 2:1</b>')
    const none = early.range === null ? null : { ...early.range, likely: null }
    expect(texts({ ...early, range: none })).toEqual(['may lose more than 5 %'])
  })

  it('stands alone where there is no advice, with the ratios of machines as ticks', () => {
    const { layout } = curveFigure(answer, theme, null)
    expect(layout.shapes).toEqual([])
    expect(layout.xaxis2?.ticktext).toEqual(['8:1', '4:1', '2:1', '1:1', '1:2', '1:4'])
  })

  it('draws a band where there is one, and tells the loss on hover of the placement alone', () => {
    const data = curveFigure(answer, theme, advice).data as { fill?: string; name?: string; customdata?: string[] }[]
    expect(data.filter(({ fill }) => fill === 'toself')).toHaveLength(1)
    const hover = (name: string) => data.find((trace) => trace.name === name)?.customdata?.[9]
    expect(hover('Best placement')).toMatch(/95 %.*loss .* at most/)
    expect(hover('LRU')).not.toContain('loss')
  })

  it('leaves what is not known empty', () => {
    const [first] = answer.curves
    if (first === undefined) throw new RangeError('no curve')
    const holed = {
      ...answer,
      curves: [{ ...first, served: first.served.map((value, at) => (at < 3 ? null : value)) }],
    }
    const figure = curveFigure(holed, theme, null)
    expect(figure.table.rows[2]?.[1]).toBeNull()
    expect((figure.data[1] as { y: (number | null)[]; connectgaps: boolean }).y.slice(0, 3)).toEqual([null, null, null])
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes, costColours } from '../../lib/palette'
import { costWaterfallFigure } from './figure'

const theme = chartThemes.light
const cost = {
  currency: 'USD',
  from: { name: 'All DRAM', annual: 3672.23552 },
  to: { name: '2:1', annual: 3466.017608 },
  steps: [
    { part: 'dram', delta: -512 },
    { part: 'cxl_media', delta: 264.8 },
    { part: 'base', delta: 0 },
    { part: 'lost_<i>throughput', delta: 40.982088 },
  ],
}

describe('the way from one yearly cost to the other', () => {
  it('hangs each part where the last one ended, and leaves out what does not differ', () => {
    const [bar] = costWaterfallFigure(cost, theme).data as {
      base: number[]
      x: number[]
      y: number[]
      marker: { color: string[] }
    }[]
    // The first row is drawn at the top.
    expect(bar?.y).toEqual([4, 3, 2, 1, 0])
    expect(bar?.base[1]).toBeCloseTo(3160.23552)
    expect(bar?.x[1]).toBeCloseTo(512)
    expect(bar?.base[2]).toBeCloseTo(3160.23552)
    expect(bar?.marker.color.slice(1, 3)).toEqual([costColours.less, costColours.more])
  })

  it('says so where the axis does not begin at zero', () => {
    const title = costWaterfallFigure(cost, theme).layout.xaxis?.title as { text: string }
    expect(title.text).toContain('not from 0')
    const whole = { ...cost, steps: [{ part: 'dram', delta: -3600 }], to: { name: 'free', annual: 72.23552 } }
    expect((costWaterfallFigure(whole, theme).layout.xaxis?.title as { text: string }).text).not.toContain('not from 0')
  })

  it('ends its table at the total, and escapes names', () => {
    const figure = costWaterfallFigure(cost, theme)
    expect(figure.table.rows.at(-1)).toEqual(['2:1', null, 3466.017608])
    expect(figure.table.rows[3]?.[2]).toBeCloseTo(3466.017608)
    expect(JSON.stringify(figure.layout.yaxis?.ticktext)).toContain('&lt;i&gt;')
  })
})

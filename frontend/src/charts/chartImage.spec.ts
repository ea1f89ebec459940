import { describe, expect, it } from 'vitest'
import { chartThemes } from '../lib/palette'
import { pictureHead, pictureLayout } from './chartImage'

const origin = { origin: 'simulated', window: null, version: null } as const
const figure = {
  data: [],
  layout: { margin: { t: 10, l: 5 }, annotations: [{ text: 'a' }] },
  table: { columns: [], rows: [] },
}

describe('the picture of a chart', () => {
  it('says what it shows, that it is simulated, and what its colours mean; names are text', () => {
    const head = pictureHead('<b>Hot</b>', origin, [{ label: 'cold', colour: '#123456' }, { label: '✕ excluded' }])
    expect(head).toEqual([
      '<b>&lt;b&gt;Hot&lt;/b&gt;</b>',
      'Simulated data',
      '<span style="color:#123456">■</span> cold   ✕ excluded',
    ])
    expect(pictureHead('Hot', { ...origin, origin: 'measured' }, [])).toEqual(['<b>Hot</b>'])
  })

  it('has room for that over the plot, and keeps its marks', () => {
    const layout = pictureLayout(figure, { width: 640, height: 200 }, ['a', 'b'], chartThemes.light)
    expect(layout).toMatchObject({ width: 640, height: 254, margin: { t: 64, l: 5 } })
    expect(layout.annotations).toHaveLength(2)
  })
})

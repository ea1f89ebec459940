import { describe, expect, it } from 'vitest'
import { chartThemes, tierColour } from '../../lib/palette'
import { costBarsFigure, partColour } from './figure'

const bars = [
  { scenario: 'A', name: 'All DRAM', parts: [{ name: 'dram', annual: 1536 }] },
  {
    scenario: 'A',
    name: '2:1',
    parts: [
      { name: 'dram', annual: 1024 },
      { name: 'cxl_media', annual: 204.8 },
    ],
  },
]

describe('machines side by side', () => {
  it('stack parts in the colours of their tiers', () => {
    expect(partColour('cxl_media', 1)).toBe(tierColour('cxl'))
    expect(partColour('swap_drive', 1)).toBe(tierColour('swap'))
    expect(partColour('energy', 0)).not.toBe(tierColour('dram'))
  })

  it('leave a part that a machine does not have without a value', () => {
    const figure = costBarsFigure(bars, chartThemes.light, 'USD')
    const [, media] = figure.data as { y: (number | null)[] }[]
    expect(media?.y).toEqual([null, 204.8])
    expect(figure.table.rows[0]).toEqual(['A', 'All DRAM', 1536, null])
  })
})

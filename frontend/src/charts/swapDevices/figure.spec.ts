import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { deviceLines, swapDevicesFigure } from './figure'

interface Line {
  x: number[]
  y: (number | null)[]
  line: { dash: string }
}

const drawn = (load: string, quantity: 'amplification' | 'swapIn' | 'swapOut' | 'p99') =>
  swapDevicesFigure(recorded('/v1/simulator/swap-devices', '', `load=${load}`), chartThemes.light, quantity)

describe('swap devices against their use', () => {
  it('leave out devices without the figure, and keep the gap of one that is too full', () => {
    const answer = recorded('/v1/simulator/swap-devices')
    expect(deviceLines(answer, 'amplification').map(({ device }) => device)).toEqual(['block', 'zns'])
    expect(deviceLines(answer, 'p99').map(({ device }) => device)).toEqual(['block', 'zns', 'zram'])
    const [block, zoned] = drawn('mixed', 'amplification').data as unknown as Line[]
    expect(block?.x).toEqual([30, 50, 70, 90])
    expect(block?.y[3]).toBeNull()
    expect(block?.y[0]).toBeCloseTo(2.18)
    expect([block?.line.dash, zoned?.line.dash]).toEqual(['solid', 'dash'])
  })

  it('are drawn in readable units, with intervals in the table', () => {
    const { data, table, layout } = drawn('mixed', 'p99')
    expect((data[0] as unknown as Line).y[0]).toBeCloseTo(1)
    expect(JSON.stringify(layout.yaxis)).toContain('(ms)')
    expect(table.columns).toContain('low (ns)')
    expect(table.rows[3]).toEqual(['Block SSD, no TRIM', 0.9, null, null, null, 'the swap area is full'])
  })

  it('carry the figures of the paper where it has some', () => {
    expect(drawn('write_heavy', 'swapOut').layout.shapes).toHaveLength(1)
    expect(drawn('write_heavy', 'swapIn').layout.shapes).toHaveLength(0)
    expect(drawn('mixed', 'swapOut').layout.shapes).toHaveLength(0)
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { countHosts, freeBytes, packedHosts, packingFigure } from './figure'

const hosts = packedHosts([
  {
    sku: 'A',
    count: 3,
    dram_bytes: 512,
    cxl_bytes: 256,
    placed: [
      { service: 'cache', dram_bytes: 100, cxl_bytes: 0, swap_bytes: 0 },
      { service: 'web', dram_bytes: 300, cxl_bytes: 200, swap_bytes: 0 },
    ],
  },
  {
    sku: 'B',
    count: 1,
    dram_bytes: 128,
    cxl_bytes: 0,
    placed: [{ service: 'web', dram_bytes: 128, cxl_bytes: 0, swap_bytes: 0 }],
  },
])

describe('a packing', () => {
  it('fills each tier with the largest first, and leaves out a tier that a host does not have', () => {
    expect(hosts[0]?.tiers.map(({ filled }) => filled.map(({ service }) => service))).toEqual([
      ['web', 'cache'],
      ['web'],
    ])
    expect(hosts[1]?.tiers).toHaveLength(1)
    expect(hosts[0]?.tiers.map(freeBytes)).toEqual([112, 56])
    expect(countHosts(hosts)).toBe(4)
  })

  it('has swap of the size that is used, as a tier without room to spare', () => {
    const [host] = packedHosts([
      {
        sku: 'A',
        count: 1,
        dram_bytes: 512,
        cxl_bytes: 0,
        placed: [{ service: 'web', dram_bytes: 400, cxl_bytes: 0, swap_bytes: 90 }],
      },
    ])
    expect(host?.tiers.map(({ tier, bytes }) => [tier, bytes])).toEqual([
      ['dram', 512],
      ['swap', 90],
    ])
    expect(host?.tiers.map(freeBytes)).toEqual([112, 0])
  })

  it('names what is free in its table', () => {
    expect(packingFigure(hosts, chartThemes.light).table.rows).toContainEqual(['A', 3, 'cxl', 256, 'free', 56])
    expect(packingFigure(hosts, chartThemes.light).table.rows).toHaveLength(7)
  })

  it('has a picture with a bar per tier, hostile names as text', () => {
    const named = packedHosts([
      {
        sku: '<b>',
        count: 2,
        dram_bytes: 2 ** 30,
        cxl_bytes: 0,
        placed: [{ service: 'a', dram_bytes: 2 ** 29, cxl_bytes: 0, swap_bytes: 0 }],
      },
    ])
    const { data, layout } = packingFigure(named, chartThemes.dark)
    expect(layout.yaxis?.ticktext).toEqual(['&lt;b&gt; × 2, DRAM'])
    expect((data as unknown as { x: number[] }[]).map(({ x }) => x)).toEqual([[0.5], [0.5]])
  })
})

import { describe, expect, it } from 'vitest'
import { toYaml } from './yaml'

describe('a scenario as YAML', () => {
  it('keeps texts texts, leaves out what is not said, and nests lists', () => {
    const text = toYaml({
      format: 'tierscope.scenario/1',
      name: 'no',
      prices: { dram: { value: 11, source: 'a "contract": 17', date: '2026-11-01' }, ssd: null },
      options: [
        { name: 'A', cxl: { gb: 256, devices: 1 } },
        { name: 'B', cxl: null },
      ],
      power: { pue: null },
      memory: null,
    })
    expect(text).toBe(
      [
        'format: "tierscope.scenario/1"',
        'name: "no"',
        'prices:',
        '  dram:',
        '    value: 11',
        '    source: "a \\"contract\\": 17"',
        '    date: "2026-11-01"',
        'options:',
        '  - name: "A"',
        '    cxl:',
        '      gb: 256',
        '      devices: 1',
        '  - name: "B"',
        'power: {}',
        '',
      ].join('\n'),
    )
  })
})

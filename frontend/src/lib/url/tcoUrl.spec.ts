import { describe, expect, it } from 'vitest'
import { readTcoSearch } from './tcoUrl'

describe('the URL of the TCO page', () => {
  it('gives back changed inputs, and drops what is none', () => {
    const tco = { set: { 'options.0.loss.value': 0.01 }, option: 2, scale: 'fleet', compare: 's1,s2' }
    expect(readTcoSearch(tco)).toMatchObject(tco)
    expect(readTcoSearch({ option: 9, scale: 'rack' })).toMatchObject({
      set: undefined,
      option: undefined,
      scale: undefined,
    })
  })

  it('starts from the hosts of the fleet, and with changes alone from the example that they were made to', () => {
    expect(readTcoSearch({}).start).toBe('cxl')
    expect(readTcoSearch({ start: 'ddr4', set: { 'fleet.hosts': 2 } }).start).toBe('ddr4')
    expect(readTcoSearch({ set: { 'fleet.hosts': 2 } }).start).toBe('example')
  })
})

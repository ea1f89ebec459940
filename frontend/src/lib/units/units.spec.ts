import { describe, expect, it } from 'vitest'
import {
  formatBytes,
  formatQuantity,
  formatRatio,
  rateUnit,
  scaleFor,
  splitQuantity,
  threeDigits,
  unitLabel,
} from './units'

describe('three digits', () => {
  it.each([
    [0, '0'],
    [1.234, '1.23'],
    [12.34, '12.3'],
    [123.4, '123'],
    [99.96, '100'],
    [1234567, '1,234,567'],
    [0.0123, '0.0123'],
    [0.0000123, '0.000012'],
    [1.2e-9, '< 0.000001'],
    [-1.2e-9, '> −0.000001'],
    [-12.34, '-12.3'],
  ])('%d is %s', (value, text) => expect(threeDigits(value)).toBe(text))
})

describe('quantities with units', () => {
  it('uses binary units for memory and never prints 1,024 of one', () => {
    expect(formatBytes(0)).toBe('0 B')
    expect(formatBytes(1023)).toBe('1,023 B')
    expect(formatBytes(1024 * 1024 - 1)).toBe('1 MiB')
    expect(formatBytes(14.2 * 1024 ** 4)).toBe('14.2 TiB')
  })

  it('uses decimal units for flows', () => {
    expect(formatQuantity(3.4e6, 'bytes_per_s')).toBe('3.4 MB/s')
    expect(formatQuantity(-2.5 * 1024 ** 3, 'bytes_per_day')).toBe('-2.5 GiB/day')
    expect(formatQuantity(3.1e-5, 'bytes')).toBe('0 B')
    expect(formatQuantity(41.3, 'days')).toBe('41.3 days')
    expect(formatQuantity(-0.00287, 'seconds')).toBe('-2.87 ms')
    expect(formatQuantity(412, 'pages_per_s')).toBe('412 pages/s')
    expect(splitQuantity(0.00067, 'cores')).toEqual({ number: '0.07', unit: '% of a core' })
    expect(formatQuantity(0.00123, 'per_min')).toBe('0.00123/min')
    expect(formatQuantity(0.002, 'per_min')).toBe('0.002/min')
    expect(splitQuantity(0.002, 'per_min')).toEqual({ number: '0.002', unit: '/min' })
    expect(formatQuantity(-0.011, 'ratio_per_h')).toBe('-1.1 %/h')
  })

  it('reads slow rates per hour', () => {
    expect(formatQuantity(2 / 3600, 'events_per_s')).toBe('2 events/h')
    expect(formatQuantity(-0.001, 'count_per_s')).toBe('-3.6/h')
    expect(formatQuantity(0, 'pages_per_s')).toBe('0 pages/s')
    expect(splitQuantity(0.0001, 'pages_per_s_per_gib')).toEqual({ number: '0.36', unit: 'pages/h per GiB' })
    expect(scaleFor('events_per_s', 0.005)).toEqual({ divisor: 1 / 3600, unit: 'events/h' })
  })

  it('tells a tiny share from zero and an almost whole one from all', () => {
    expect(formatRatio(0)).toBe('0 %')
    expect(formatRatio(0.00001)).toBe('< 0.01 %')
    expect(formatRatio(0.99999)).toBe('> 99.9 %')
    expect(formatRatio(1)).toBe('100 %')
    expect(formatRatio(0.6312)).toBe('63.1 %')
  })

  it('keeps units that it does not know readable', () => {
    expect(formatQuantity(5, 'huge_pages_per_s')).toBe('5 huge pages/s')
    expect(unitLabel('ptes')).toBe('ptes')
  })

  it('splits a value from its unit for headlines', () => {
    expect(splitQuantity(61.3 * 1024 ** 3, 'bytes')).toEqual({ number: '61.3', unit: 'GiB' })
    expect(splitQuantity(0.38, 'pages_per_s_per_gib')).toEqual({ number: '0.38', unit: 'pages/s per GiB' })
  })
})

describe('scales of charts', () => {
  it('are chosen by the largest value', () => {
    expect(scaleFor('bytes', 3 * 1024 ** 3)).toEqual({ divisor: 1024 ** 3, unit: 'GiB' })
    expect(scaleFor('bytes', 0)).toEqual({ divisor: 1, unit: 'B' })
    expect(scaleFor('seconds', 30 * 86_400)).toEqual({ divisor: 86_400, unit: 'days' })
    expect(scaleFor('seconds', 5400)).toEqual({ divisor: 60, unit: 'min' })
    expect(scaleFor('seconds', 90)).toEqual({ divisor: 1, unit: 's' })
    expect(scaleFor('ratio', 0.2)).toEqual({ divisor: 0.01, unit: '%' })
  })

  it('know the unit of a rate', () => {
    expect(rateUnit('pages')).toBe('pages_per_s')
    expect(rateUnit('count')).toBe('count_per_s')
  })
})

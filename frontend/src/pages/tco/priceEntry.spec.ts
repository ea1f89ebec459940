import { describe, expect, it } from 'vitest'
import { blankPrice, requestOf } from './priceEntry'

const filled = { ...blankPrice, value: 12, source: ' contract 17 ', date: '2026-11-01' }

describe('a price of your own', () => {
  it('is certain without ends', () => {
    expect(requestOf(filled, 'dram', 'EUR')).toEqual({
      item: 'dram',
      value: 12,
      low: 12,
      high: 12,
      currency: 'EUR',
      source: 'contract 17',
      date: '2026-11-01',
      confirm: true,
    })
  })

  it.each([
    ['no value', { value: '' }],
    ['a range that does not hold it', { low: 13 }],
    ['no source', { source: ' ' }],
    ['no day', { date: '' }],
    ['free DRAM', { value: 0 }],
  ])('is none with %s', (_, change) => {
    expect(requestOf({ ...filled, ...change }, 'dram', 'EUR')).toBeNull()
  })

  it('may be nothing for what is there anyway', () => {
    expect(requestOf({ ...filled, value: 0 }, 'ddr4_reused', 'EUR')?.value).toBe(0)
  })
})

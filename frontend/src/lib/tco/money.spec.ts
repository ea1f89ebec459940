import { describe, expect, it } from 'vitest'
import { formatMoney, formatMoneyChange } from './money'

describe('amounts of money', () => {
  it('show cents only where they matter', () => {
    expect([3672.23552, 8.007555, 0.09, 0, 99.7].map((amount) => formatMoney(amount, 'USD'))).toEqual([
      '$3,672',
      '$8.01',
      '$0.090',
      '$0',
      '$100',
    ])
  })

  it('shorten fleets to millions', () => {
    expect(formatMoney(3_469_379.8, 'USD')).toBe('$3.47 M')
    expect(formatMoney(1_234_567_890, 'EUR')).toBe('€1.23 bn')
  })

  it('keep a sign, and a currency that is none', () => {
    expect(formatMoneyChange(206.217912, 'USD')).toBe('+$206')
    expect(formatMoneyChange(-206.217912, 'USD')).toBe('−$206')
    expect(formatMoney(12, 'credits')).toBe('12.00 credits')
  })
})

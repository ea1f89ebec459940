import { expect, it } from 'vitest'
import { readableId } from './names'

it('reads ids as words, without the unit that the value carries anyway', () => {
  expect(readableId('ratio.hot_bytes/1')).toBe('Hot')
  expect(readableId('promoted_pages_per_s')).toBe('Promoted pages/s')
  expect(readableId('slow_bandwidth_ratio')).toBe('Slow bandwidth')
  expect(readableId('rho')).toBe('Rho')
})

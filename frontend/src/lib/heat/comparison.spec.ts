import { expect, it } from 'vitest'
import { comparisonWords, hostComparison, readComparison, shiftOf } from './comparison'

it('is read from the address: an earlier time, or another host', () => {
  const earlier = readComparison('-7d')
  expect(earlier).toMatchObject({ kind: 'earlier', seconds: 604_800 })
  expect(earlier === null ? null : shiftOf(earlier)).toBe(604_800)
  expect(readComparison(hostComparison('h-2'))).toEqual({ kind: 'host', hostId: 'h-2' })
})

it.each([undefined, '', '-2h', 'host:', 'h-2'])('is none where the address says %s', (text) => {
  expect(readComparison(text)).toBeNull()
})

it('speaks of hosts by name and of times by their distance', () => {
  expect(comparisonWords({ kind: 'host', hostId: 'h-2' }, 'redis-2')).toMatchObject({
    other: 'redis-2',
    than: 'on redis-2',
    then: 'on redis-2',
  })
  const earlier = readComparison('-1d')
  expect(earlier === null ? '' : comparisonWords(earlier, '').other).toBe('1 day before')
})

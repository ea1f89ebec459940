import { describe, expect, it } from 'vitest'
import { comparisonWords, earlierTime, otherSide, readComparison, writeComparison, type Comparison } from './comparison'

const window = { start: 10_000, end: 20_000 }

describe('a comparison', () => {
  it('is read from the address: an earlier time, another host or service, an event', () => {
    expect(readComparison('-7d')).toMatchObject({ kind: 'earlier', seconds: 604_800 })
    for (const kind of ['host', 'service', 'event'] as const)
      expect(readComparison(writeComparison(kind, 'x:2'))).toEqual({ kind, id: 'x:2' })
  })

  it.each([undefined, '', '-2h', 'host:', 'h-2', 'pod:1'])('is none where the address says %s', (text) => {
    expect(readComparison(text)).toBeNull()
  })

  it('speaks of hosts by name, of times by their distance, and of events by what happened', () => {
    const words = (comparison: Comparison | null, name = '') =>
      comparison === null ? null : comparisonWords(comparison, name)
    expect(words(readComparison('host:h-2'), 'redis-2')).toMatchObject({ other: 'redis-2', than: 'on redis-2' })
    expect(words(readComparison('service:s'), 'feed')).toMatchObject({ other: 'feed', then: 'in feed' })
    expect(words(readComparison('event:3'), 'deploy: v2')?.other).toBe('before deploy: v2')
    expect(words(readComparison('-1d'))?.other).toBe('1 day before')
  })
})

describe('the other side', () => {
  it('is as much earlier as the comparison says, and at the same time on another host', () => {
    const side = (text: string) => otherSide(readComparison(text) as Comparison, window, undefined)
    expect(side('-1h')).toEqual({ shiftSeconds: 3600, fromSeconds: 10_000 })
    expect(side('host:h-2')).toEqual({ shiftSeconds: 0, fromSeconds: 10_000 })
  })

  it('sets as much time before an event beside what follows it, and is none where the event lies outside', () => {
    const event: Comparison = { kind: 'event', id: '3' }
    expect(otherSide(event, window, 17_000)).toEqual({ shiftSeconds: 3000, fromSeconds: 17_000 })
    expect([undefined, 10_000, 20_000, 5].map((at) => otherSide(event, window, at))).toEqual([null, null, null, null])
  })

  it('moves with the clock where this side does', () => {
    expect(earlierTime('-6h', 86_400)).toBe('-1800m')
    expect(earlierTime(undefined, 3600)).toBe('-60m')
    expect(earlierTime('2026-11-21T03:00:00Z', 3600)).toBe('2026-11-21T02:00:00Z')
  })
})

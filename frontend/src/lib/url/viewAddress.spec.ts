import { describe, expect, it } from 'vitest'
import { kioskAddress, pinnedAddress, savedAddress } from './viewAddress'

const now = Date.UTC(2026, 10, 20, 12, 0, 0) / 1000

describe('the address of a view', () => {
  it('is saved without the kiosk and without a fragment', () => {
    expect(savedAddress('/hosts?q=a+b&kiosk=30#main')).toBe('/hosts?q=a+b')
    expect(savedAddress('/?kiosk=1')).toBe('/')
  })

  it('has the shown range as absolute times when it is pinned', () => {
    expect(pinnedAddress('/services/s?tab=heatmap&from=-1h&live=off', now)).toBe(
      '/services/s?tab=heatmap&from=2026-11-20T11%3A00%3A00Z&to=2026-11-20T12%3A00%3A00Z',
    )
    expect(pinnedAddress('/', now)).toBe('/?from=2026-11-20T06%3A00%3A00Z&to=2026-11-20T12%3A00%3A00Z')
  })

  it('keeps a range that is absolute already', () => {
    const pinned = pinnedAddress('/?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00Z', now)
    expect(pinnedAddress(pinned, now + 3600)).toBe(pinned)
  })

  it('carries the kiosk beside what was there', () => {
    expect(kioskAddress('/hosts?q=a', 30)).toBe('/hosts?q=a&kiosk=30')
  })
})

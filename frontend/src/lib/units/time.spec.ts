import { describe, expect, it } from 'vitest'
import { resolveRange } from '../url/timeRange'
import {
  formatAgo,
  formatDuration,
  formatUtc,
  isTime,
  plotTime,
  plotTimeSeconds,
  relativeLabel,
  relativeSeconds,
  toRfc3339,
} from './time'

const noon = Date.parse('2026-11-21T12:00:00Z') / 1000

describe('times of the URL', () => {
  it('are relative or carry a zone', () => {
    expect(isTime('-6h')).toBe(true)
    expect(isTime('2026-11-21T03:00:00Z')).toBe(true)
    expect(isTime('2026-11-21T03:00:00+01:00')).toBe(true)
    expect(isTime('2026-11-21T03:00:00')).toBe(false)
    expect(isTime('yesterday')).toBe(false)
    expect(isTime('-0h')).toBe(false)
  })

  it('read in seconds and in words', () => {
    expect(relativeSeconds('-90m')).toBe(5400)
    expect(relativeLabel('-6h')).toBe('last 6 hours')
    expect(relativeLabel('-1d')).toBe('last day')
    expect(relativeLabel('now')).toBeNull()
  })

  it('resolve against now, and never to an empty range', () => {
    expect(resolveRange('-6h', undefined, noon)).toEqual({ start: noon - 21600, end: noon })
    const turned = resolveRange(toRfc3339(noon), toRfc3339(noon - 60), noon)
    expect(turned.start).toBeLessThan(turned.end)
  })
})

describe('times on charts', () => {
  it('survive the way through Plotly in the viewer’s zone', () => {
    for (const seconds of [noon, noon + 0.0, noon - 86_400 * 200])
      expect(plotTimeSeconds(plotTime(seconds))).toBe(seconds)
  })

  it('are read in the shorter forms that Plotly hands back', () => {
    expect(plotTimeSeconds(plotTime(noon).slice(0, 16))).toBe(noon)
    expect(plotTimeSeconds(`${plotTime(noon)}.25`)).toBeCloseTo(noon + 0.25)
  })
})

describe('times in words', () => {
  it('show UTC to the second', () => expect(formatUtc(new Date(noon * 1000))).toBe('2026-11-21 12:00:00 UTC'))

  it.each([
    [45, '45 s'],
    [720, '12 min'],
    [12_000, '3 h 20 min'],
    [7200, '2 h'],
    [187_200, '2 d 4 h'],
  ])('%d seconds are %s', (seconds, text) => expect(formatDuration(seconds)).toBe(text))

  it('read a moment in the future as now, because clocks differ', () => {
    expect(formatAgo(new Date((noon + 30) * 1000), new Date(noon * 1000))).toBe('just now')
    expect(formatAgo(new Date((noon - 90) * 1000), new Date(noon * 1000))).toBe('1 min ago')
  })
})

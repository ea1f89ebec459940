import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { mockNow, mockWindow } from '../../mock-api/figures'
import { alertTimelineFigure, timelineRows, type TimelineSpan } from './figure'

const iso = (minutesAgo: number) => new Date((mockNow - minutesAgo * 60) * 1000).toISOString()

function span(rule_name: string, over: Partial<TimelineSpan>): TimelineSpan {
  return {
    alert_id: 'a-1',
    rule_name,
    severity: 'warning',
    subject: { kind: 'host', name: 'host-1' },
    state: 'firing',
    from: iso(60),
    to: iso(30),
    ...over,
  }
}

const spans = [
  span('Swap', { from: iso(50), to: iso(40) }),
  span('<b>Ping-pong</b>', { severity: 'critical', to: null }),
  span('Silent', { from: iso(600), to: iso(20) }),
  span('Swap', { state: 'pending', subject: { kind: 'host', name: 'host-2' } }),
]

interface Bars {
  name: string
  y: string[]
  x: number[]
}

describe('the timeline of alerts', () => {
  it('has the most severe row first, then what fired longest', () => {
    expect(timelineRows(spans, 'rule', mockNow)).toEqual(['<b>Ping-pong</b>', 'Silent', 'Swap'])
    expect(timelineRows(spans, 'subject', mockNow)).toEqual(['host-1', 'host-2'])
  })

  it('draws what goes on up to the end, and what began before from the start', () => {
    const bars = alertTimelineFigure(spans, 'rule', mockWindow, chartThemes.dark).data as unknown as Bars[]
    const firing = bars.find(({ name }) => name === 'firing')
    expect(firing?.x).toEqual([600_000, 3_600_000, (6 * 60 - 20) * 60_000])
  })

  it('shows hostile names as text', () => {
    const { layout } = alertTimelineFigure(spans, 'rule', mockWindow, chartThemes.dark)
    expect(layout.yaxis?.ticktext?.[0]).toBe('&lt;b&gt;Ping-pong&lt;/b&gt;')
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { mockNow, mockWindow } from '../../mock-api/figures'
import { gapTimelineFigure, hostsWithGaps, type Gap, type HostGaps } from './figure'

const iso = (minutesAgo: number) => new Date((mockNow - minutesAgo * 60) * 1000).toISOString()
const gap = (from: number, to: number, kind: Gap['kind']): Gap => ({
  from: iso(from),
  to: iso(to),
  kind,
  why: '<i>why</i>',
})

const hosts: HostGaps[] = [
  { name: 'whole', window: mockWindow, gaps: [] },
  { name: '<b>short</b>', window: { ...mockWindow, start: iso(120) }, gaps: [gap(30, 20, 'restart')] },
  { name: 'long', window: mockWindow, gaps: [gap(400, 300, 'silent'), gap(10, 5, 'dropped')] },
]

interface Bars {
  name: string
  y: string[]
  x: number[]
}

describe('the timeline of gaps', () => {
  const figure = gapTimelineFigure(hosts, mockWindow, chartThemes.light)
  const bars = figure.data as unknown as Bars[]

  it('has the host that misses most on top, and none that misses nothing', () => {
    expect(hostsWithGaps(hosts).map(({ name }) => name)).toEqual(['long', '<b>short</b>'])
  })

  it('draws a gap that began before the window from its start', () => {
    expect(bars.find(({ name }) => name === 'host silent')?.x).toEqual([60 * 60_000])
  })

  it('hatches the time before a host was enrolled: it is no gap', () => {
    expect(bars[0]).toMatchObject({ name: 'not enrolled', y: ['<b>short</b>'], x: [240 * 60_000] })
  })

  it('shows hostile names as text, and has all gaps in its table', () => {
    expect(figure.layout.yaxis?.ticktext).toContain('&lt;b&gt;short&lt;/b&gt;')
    expect(figure.table.rows).toHaveLength(3)
    expect(figure.table.rows[0]).toContain(6000)
  })
})

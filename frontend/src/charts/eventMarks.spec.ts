import { describe, expect, it } from 'vitest'
import { chartThemes } from '../lib/palette'
import { groupMarks, markKind, markShapes } from './eventMarks'

const deploy = (atSeconds: number, text = 'deploy: v2') => ({ atSeconds, text, kind: 'deploy' as const })

describe('marks over time', () => {
  it('are left out before and after the window', () => {
    expect(groupMarks([deploy(99), deploy(100), deploy(900), deploy(901)], 100, 900)).toHaveLength(2)
  })

  it('are one where they would lie upon each other, but resets never hide events', () => {
    const reset = { atSeconds: 502, text: 'left out: reboot', kind: 'left_out' as const }
    const groups = groupMarks([deploy(500), reset, deploy(505, 'deploy: v3'), deploy(700)], 100, 900)
    expect(groups.map(({ kind, texts }) => [kind, texts.length])).toEqual([
      ['deploy', 2],
      ['left_out', 1],
      ['deploy', 1],
    ])
  })

  it('tell alerts that fired from those that were resolved, and from events', () => {
    const fired = { atSeconds: 500, text: 'fired: Ping-pong', kind: 'alert_fired' as const }
    const resolved = { atSeconds: 503, text: 'resolved: Ping-pong', kind: 'alert_resolved' as const }
    const { shapes, annotations } = markShapes(chartThemes.light, [deploy(501), fired, resolved], 100, 900)
    expect(annotations.map(({ text }) => text)).toEqual(['▲', '▼', '△'])
    expect(new Set(shapes.map(({ line }) => line?.color)).size).toBe(3)
  })

  it('count what does not fit the hover text', () => {
    const many = Array.from({ length: 9 }, (_, index) => deploy(500, `deploy: v${index}`))
    const { annotations } = markShapes(chartThemes.light, many, 100, 900)
    expect(annotations[0]?.hovertext).toContain('deploy: v4<br>and 4 more')
  })

  it('show a hostile text as text', () => {
    const { annotations } = markShapes(chartThemes.dark, [deploy(500, '<a href="x">%{y}</a>')], 100, 900)
    expect(annotations[0]?.hovertext).toBe('&lt;a href="x"&gt;%&#123;y}&lt;/a&gt;')
  })

  it('draw kinds that are new as notes', () => {
    expect(markKind('party')).toBe('note')
    expect(markKind('knob')).toBe('knob')
  })
})

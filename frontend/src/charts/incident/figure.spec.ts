import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { plotTime } from '../../lib/units/time'
import { recorded } from '../../mock-api/answer'
import { incidentFigure, momentsOf, placeRows, type ShownIncident } from './figure'

const theme = chartThemes.light
const answer = recorded('/v1/alerts/{alert_id}/incident', 'alert-1') as Required<ShownIncident>
const seconds = (time: string | null) => Date.parse(time ?? '') / 1000

interface Trace {
  name?: string
  type: string
  xaxis?: string
  yaxis?: string
  x: unknown[]
  y: (number | null)[]
  line?: { dash?: string }
  customdata?: string[]
}
const figureOf = (over: Partial<ShownIncident> = {}) => incidentFigure({ ...answer, ...over }, theme)
const tracesOf = (over: Partial<ShownIncident> = {}) => figureOf(over).data as unknown as Trace[]
const layoutOf = (over: Partial<ShownIncident> = {}) =>
  figureOf(over).layout as unknown as {
    annotations: { text: string; hovertext?: string }[]
    shapes: { type: string; xref: string; x0: string; x1: string }[]
  }

describe('an incident over time', () => {
  it('stands on one axis of time with one crosshair and one box for all rows', () => {
    expect(tracesOf().every(({ xaxis }) => xaxis === undefined || xaxis === 'x')).toBe(true)
    expect(layoutOf()).toMatchObject({ hoversubplots: 'axis', xaxis: { showspikes: true, spikemode: 'across' } })
    expect(Object.keys(layoutOf()).filter((key) => key.startsWith('xaxis'))).toEqual(['xaxis'])
  })

  it('gives each row with lines an axis of its own, and a row without lines its kind of nothing', () => {
    const lines = tracesOf().filter(({ type, name }) => type === 'scatter' && name !== undefined)
    expect(Object.fromEntries(lines.map(({ name, yaxis }) => [name, yaxis]))).toEqual({
      Promoted: 'y2',
      Demoted: 'y2',
      'Free in the top tier': 'y3',
      'Low watermark': 'y3',
      'Memory pressure, some': 'y4',
    })
    const texts = layoutOf().annotations.map(({ text }) => text)
    expect(texts).toContain('not collected: see below')
    expect(texts).toContain('not supported: see below')
    expect(texts).toContain('Tier moves, pages/s (promoted up, demoted down)')
    expect(texts).toContain('Free memory, top tier, MiB')
  })

  it('draws demotions downwards, watermarks dashed, and breaks lines at gaps, which are hatched', () => {
    const found = (name: string) => tracesOf().find((trace) => trace.name === name)
    expect(Math.max(...(found('Demoted')?.y ?? []).map((value) => value ?? -1))).toBeLessThan(0)
    expect(found('Demoted')?.customdata?.[0]).toBe('50 pages/s')
    expect(found('Low watermark')?.line?.dash).toBe('dash')
    expect(found('Free in the top tier')?.line?.dash).toBeUndefined()
    expect(found('Promoted')?.y[5]).toBeNull()
    const hatched = tracesOf().filter(({ type, yaxis }) => type === 'bar' && yaxis === 'y12')
    expect(hatched.map(({ x }) => x)).toEqual([[plotTime(answer.axis.times[5] ?? 0)]])
  })

  it('names each verdict on its stretch', () => {
    const bars = tracesOf().filter(({ type, yaxis }) => type === 'bar' && yaxis === 'y')
    expect(bars.map(({ name }) => name)).toEqual(['healthy', 'ping-pong'])
    expect(bars[1]?.x).toEqual([70 * 60_000])
  })

  it('shades from the condition to firing, and from firing to the end', () => {
    const spans = layoutOf().shapes.filter(({ type, xref }) => type === 'rect' && xref === 'x')
    const [held, fired] = [seconds(answer.onset.held_at), seconds(answer.onset.fired_at)]
    expect(spans.map(({ x0, x1 }) => [x0, x1])).toEqual([
      [plotTime(held), plotTime(fired)],
      [plotTime(fired), plotTime(seconds(answer.window.end))],
    ])
  })

  it('marks when it began, fired and was resolved, and the events with their text escaped', () => {
    const notes = layoutOf().annotations
    expect(notes.filter(({ text }) => ['condition holds', 'fired', 'resolved'].includes(text))).toHaveLength(2)
    expect(notes.some(({ hovertext }) => hovertext?.includes('&lt;b&gt;42') === true)).toBe(true)
    const over = { ...answer.onset, resolved_at: answer.window.end }
    expect(momentsOf(over, theme).map(({ label }) => label)).toEqual(['condition holds', 'fired', 'resolved'])
  })

  it('has one moment where the alert fired at once, and none before where the minutes are gone', () => {
    const at = answer.onset.fired_at
    const labels = (over: Partial<typeof answer.onset>) =>
      momentsOf({ ...answer.onset, ...over }, theme).map(({ label }) => label)
    expect(labels({ held_at: at, pending_at: null })).toEqual(['fired'])
    expect(labels({ held_at: null })).toEqual(['pending', 'fired'])
  })

  it('shows the part that the viewer picked', () => {
    const zoom = { start: answer.axis.times[3] ?? 0, end: answer.axis.times[9] ?? 0 }
    const { layout } = incidentFigure(answer, theme, zoom)
    expect(layout.xaxis?.range).toEqual([plotTime(zoom.start), plotTime(zoom.end)])
  })

  it('works without a ribbon, with rows from the top to the bottom', () => {
    expect(tracesOf({ ribbon: [] }).some(({ yaxis, type }) => type === 'bar' && yaxis === 'y')).toBe(false)
    const places = placeRows([0.3, 1, 1])
    expect(places.map(({ axis }) => axis)).toEqual([1, 2, 3])
    expect(places[0]?.domain[1]).toBeLessThan(1)
    expect(places[2]?.domain[0]).toBeCloseTo(0)
    expect(places[1]?.domain[1]).toBeLessThan(places[0]?.domain[0] ?? 0)
  })

  it('lists the same values as a table, with the verdict of each time', () => {
    const { table } = figureOf()
    expect(table.columns[1]).toBe('Promoted (pages/s)')
    expect(table.columns.at(-1)).toBe('verdict')
    expect(table.rows[0]?.slice(1, 3)).toEqual([100, 50])
    expect(table.rows.at(-1)?.at(-1)).toBe('ping-pong')
  })
})

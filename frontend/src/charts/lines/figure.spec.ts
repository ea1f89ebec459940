import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { timeAxis } from '../../mock-api/figures'
import { breakGaps } from '../baseLayout'
import { timeZoomOf } from '../timeZoom'
import { counterLines } from './counterLines'
import { linesFigure } from './figure'
import { recorded } from '../../mock-api/answer'

const theme = chartThemes.dark
const axis = timeAxis(4, 60)

function traces(figure: ReturnType<typeof linesFigure>) {
  return figure.data as unknown as {
    type: string
    name?: string
    x: string[]
    y: (number | null)[]
    connectgaps?: boolean
  }[]
}

describe('lines over time', () => {
  it('keep gaps as gaps, hatch what no line has, and keep zeros', () => {
    const figure = linesFigure(axis, theme, [{ key: 'a', label: 'a', unit: 'pages_per_s', values: [0, null, null, 3] }])
    const [, gaps, line] = traces(figure)
    expect(line?.y).toEqual([0, null, null, 3])
    expect(line?.connectgaps).toBe(false)
    expect(gaps?.type).toBe('bar')
    expect(gaps?.x).toHaveLength(2)
    expect(figure.table.rows.map((row) => row[1])).toEqual([0, null, null, 3])
  })

  it('scale bytes by the largest value and say the unit on the axis', () => {
    const figure = linesFigure(axis, theme, [
      { key: 'a', label: 'a', unit: 'bytes', values: [0, 1024 ** 3, 2 * 1024 ** 3, null] },
    ])
    expect(traces(figure)[2]?.y).toEqual([0, 1, 2, null])
    expect(figure.layout.yaxis?.title).toMatchObject({ text: 'GiB' })
  })

  it('escape hostile names', () => {
    const figure = linesFigure(axis, theme, [{ key: 'a', label: '<img src=x>', unit: '', values: [1, 1, 1, 1] }])
    expect(traces(figure)[2]?.name).toBe('&lt;img src=x&gt;')
  })

  it('fix the range to the window, and show only marks inside it', () => {
    const inside = { atSeconds: axis.times[0] ?? 0, text: 'deploy', kind: 'deploy' as const }
    const figure = linesFigure(
      axis,
      theme,
      [{ key: 'a', label: 'a', unit: '', values: [1, 1, 1, 1] }],
      [inside, { atSeconds: 0, text: 'old', kind: 'note' }],
    )
    expect(figure.layout.shapes).toHaveLength(1)
    expect(figure.layout.xaxis?.range).toHaveLength(2)
  })

  it('break at missing rows', () => {
    expect(breakGaps([0, 60, 600], [1, 2, 3], 60)).toEqual({ times: [0, 60, 120, 600], values: [1, 2, null, 3] })
    expect(breakGaps([0, 60, 120], [1, 2, 3], null).values).toEqual([1, 2, 3])
  })
})

describe('counters as lines', () => {
  it('are rates by default, values on request', () => {
    const pages = recorded('/v1/hosts/{host_id}/counters', 'h-1', 'name=pgpromote_success')
    expect(counterLines(pages, 'rate')[0]?.unit).toBe('pages_per_s')
    expect(counterLines(pages, 'value')[0]?.unit).toBe('pages')
    expect(counterLines(recorded('/v1/hosts/{host_id}/counters'), 'rate')).toEqual([])
  })

  it('read stall time as a share', () => {
    const answer = recorded('/v1/hosts/{host_id}/counters', 'h-1', 'name=host|pressure.memory|some_total_us')
    const line = counterLines(answer, 'rate')[0]
    expect(line?.unit).toBe('ratio')
    expect(line?.values[0]).toBeCloseTo((answer.series[0]?.per_s?.[0] ?? 0) / 1e6)
  })
})

describe('a time zoom', () => {
  it('is read from a changed x range alone', () => {
    const zoom = timeZoomOf({ 'xaxis.range[0]': '2026-11-21 01:00', 'xaxis.range[1]': '2026-11-21 02:00:30' })
    expect((zoom?.end ?? 0) - (zoom?.start ?? 0)).toBe(3630)
    expect(timeZoomOf({ 'yaxis.range[0]': 3 })).toBeNull()
    expect(timeZoomOf({ autosize: true })).toBeNull()
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../lib/palette'
import { timeAxis } from '../mock-api/figures'
import { classTimeFigure } from './classTime/figure'
import { ghostColumns, moveGhost, narrowGhost } from './ghost'
import { ledgerFigure } from './ledger/figure'
import { linesFigure } from './lines/figure'

const theme = chartThemes.light
const axis = timeAxis(4, 60)
const day = 86_400
const series = (key: string, values: (number | null)[], unit = 'bytes') => ({ key, label: key, unit, values })
const earlierAxis = { ...axis, times: axis.times.map((time) => time - day) }
const side = { shiftSeconds: day, fromSeconds: 0 }

interface Trace {
  name?: string
  x: string[]
  y: (number | null)[]
  customdata?: number[]
  line?: { dash?: string; color?: string }
}
const dashed = (figure: { data: unknown[] }) => (figure.data as Trace[]).filter((trace) => trace.line?.dash === 'dash')

describe('a ghost', () => {
  const lines = [series('a', [1, null, 3, 4])]
  const ghost = moveGhost('1 day before', { axis: earlierAxis, lines }, side)

  it('lies on the time axis of the chart', () => {
    expect(ghost.times).toEqual(axis.times)
    expect(ghost.missing).toBeNull()
  })

  it('leaves out what has no counterpart before an event', () => {
    const after = moveGhost('x', { axis: earlierAxis, lines }, { ...side, fromSeconds: axis.times[1] ?? 0 })
    expect(after.times).toEqual(axis.times.slice(2))
    expect(after.lines[0]?.values).toEqual([3, 4])
  })

  it('says where the other side has no data, rather than drawing nothing', () => {
    const none = moveGhost('1 day before', { axis: earlierAxis, lines: [series('a', [null, null, null, null])] }, side)
    expect(none.missing).toContain('no data for “1 day before”')
    expect(narrowGhost(ghost, ['b'])?.missing).toContain('no data')
    expect(narrowGhost(ghost, ['a'])?.missing).toBeNull()
  })

  it('has the value of the nearest bucket in its column, and none where that is further than half a step', () => {
    const late = { ...ghost, times: ghost.times.map((time) => time + 20) }
    expect(ghostColumns(late, axis.times, 60)[0]?.values).toEqual([1, null, 3, 4])
    const later = { ...ghost, times: ghost.times.map((time) => time + 200) }
    expect(ghostColumns(later, axis.times, 60)[0]?.values).toEqual([null, null, null, 1])
  })
})

describe('charts with a ghost', () => {
  it('draw lines dashed in the colour of their counterparts, on a scale that holds both', () => {
    const lines = [series('a', [1, 2, 3, 4]), series('b', [1, 1, 1, 1])]
    const ghost = moveGhost(
      'h-2',
      { axis, lines: [series('b', [2048, 2048, null, 4096])] },
      { ...side, shiftSeconds: 0 },
    )
    const figure = linesFigure(axis, theme, lines, [], undefined, ghost)
    const [line] = dashed(figure)
    expect(line?.name).toBe('b, h-2')
    expect(line?.y).toEqual([2, 2, null, 4])
    expect(line?.line?.color).toBe((figure.data as Trace[])[3]?.line?.color)
    expect(figure.table.columns.at(-1)).toBe('b, h-2 (B)')
    expect(figure.table.rows.map((row) => row.at(-1))).toEqual([2048, 2048, null, 4096])
  })

  it('run along the tops of stacked columns, and name the values of their own', () => {
    const classes = [series('hot', [1, 1, 1, 1]), series('warm', [2, 2, 2, 2]), series('cold', [4, 4, null, 4])]
    const ghost = moveGhost('1 day before', { axis: earlierAxis, lines: classes }, side)
    const drawn = dashed(classTimeFigure({ axis, series: classes }, theme, [], ghost))
    expect(drawn.map(({ name }) => name)).toEqual(['cold, 1 day before', 'warm, 1 day before', 'hot, 1 day before'])
    expect(drawn[2]?.y).toEqual([7, 7, 3, 7])
    expect(drawn[2]?.customdata).toEqual([1, 1, 1, 1])
    expect(drawn[2]?.line?.color).toBe(theme.text)
  })

  it('draw demotions down', () => {
    const moves = [
      series('promoted_pages', [1, 1, 1, 1], 'pages_per_s'),
      series('demoted_pages', [5, 5, 5, 5], 'pages_per_s'),
    ]
    const ghost = moveGhost('1 day before', { axis: earlierAxis, lines: moves }, side)
    const figure = ledgerFigure({ axis, series: moves, resets: [], page_bytes: null }, theme, [], ghost)
    expect(dashed(figure).map(({ y }) => y[0])).toEqual([1, -5])
    expect(figure.table.columns).toHaveLength(5)
  })
})

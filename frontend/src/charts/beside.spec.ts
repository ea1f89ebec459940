import { describe, expect, it } from 'vitest'
import { chartThemes } from '../lib/palette'
import { recorded } from '../mock-api/answer'
import { ageHistogramFigure } from './ageHistogram/figure'
import { curveFigure } from './curve/figure'
import { revisitFigure } from './revisit/figure'
import { sensitivityFigure } from './sensitivity/figure'
import { windowBarsFigure } from './windowBars/figure'

const theme = chartThemes.light
const label = '<b>1 day before'
const beside = <T>(answer: T) => ({ label, answer, missing: null })
const absent = { label, answer: null, missing: 'Nothing to compare with.' }

interface Drawn {
  name?: string
  x: (number | string)[]
  y: (number | null)[]
  opacity?: number
  line?: { dash?: string }
}
const dimmed = (figure: { data: unknown[] }) => (figure.data as Drawn[]).filter(({ opacity }) => (opacity ?? 1) < 1)

/** The table's column that the other side added, the last one. */
const lastColumn = ({ table }: { table: { columns: string[]; rows: (string | number | null)[][] } }) => ({
  name: table.columns.at(-1),
  values: table.rows.map((row) => row.at(-1)),
})

describe('beside the other side', () => {
  it('the hit-ratio curve draws both of its curves dimmed, and names them as text', () => {
    const answer = recorded('/v1/services/{service_id}/curve', 'svc-redis')
    const figure = curveFigure(answer, theme, null, beside(answer))
    expect(dimmed(figure)).toHaveLength(answer.curves.length)
    expect(dimmed(figure)[0]?.name).toContain('&lt;b&gt;1 day before')
    expect(lastColumn(figure).values).toEqual(answer.curves.at(-1)?.served)
    expect(dimmed(curveFigure(answer, theme, null, absent))).toEqual([])
  })

  it('re-access shares stand at the same time since the access, whatever the interval of the other side', () => {
    const answer = recorded('/v1/services/{service_id}/revisit', 'svc-redis')
    const [chosen] = answer.curves
    if (chosen === undefined || answer.interval_seconds === null) throw new RangeError('no curve')
    const slower = { ...answer, interval_seconds: answer.interval_seconds * 2 }
    const figure = revisitFigure(answer, chosen, 2, theme, beside(slower))
    const own = (figure.data as Drawn[]).find(({ name }) => name === chosen.kind)
    expect(dimmed(figure)[0]?.x[0]).toBe(own?.x[1])
    const { name, values } = lastColumn(figure)
    expect(name).toContain('1 day before (ratio)')
    expect([values[0], values[1]]).toEqual([null, chosen.share[0]])
  })

  it('ages have a line along the tops of the other side’s bars, on a scale that holds both', () => {
    const { age_histogram: buckets } = recorded('/v1/services/{service_id}/heat')
    const recency = { name: 'recency', threshold_intervals: 2 } as const
    const larger = buckets.map((bucket) => ({ ...bucket, active_bytes: bucket.active_bytes * 1024 }))
    const figure = ageHistogramFigure(buckets, recency, theme, undefined, beside(larger))
    expect(dimmed(figure)).toHaveLength(1)
    const [first] = larger
    expect(lastColumn(figure).values[0]).toBe((first?.active_bytes ?? 0) + (first?.never_bytes ?? 0))
    expect(Math.max(...(dimmed(figure)[0]?.y ?? []).map((value) => value ?? 0))).toBeLessThan(1024)
  })

  it('windows have a mark where the other side’s share lies, and none where it has none', () => {
    const { by_window: windows } = recorded('/v1/services/{service_id}/heat')
    const [kept] = windows
    const figure = windowBarsFigure(windows, theme, beside(kept === undefined ? [] : [kept]))
    expect(dimmed(figure)[0]?.y.slice(0, 2)).toEqual([(kept?.active_ratio.value ?? 0) * 100, null])
    expect(lastColumn(figure).values.slice(0, 2)).toEqual([kept?.active_ratio.value, null])
  })

  it('throughput has the other side’s points as rings and its fit dashed; the table tells them apart', () => {
    const answer = recorded('/v1/services/{service_id}/sensitivity', 'svc-redis')
    const figure = sensitivityFigure(answer, theme, 'anon', new Map(), beside(answer))
    expect(dimmed(figure).map(({ line }) => line?.dash)).toEqual([undefined, 'dash'])
    expect(figure.table.rows.filter(([side]) => side === label)).toHaveLength(answer.scatter.length)
  })
})

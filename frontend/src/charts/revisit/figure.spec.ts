import { describe, expect, it } from 'vitest'
import type { RevisitCurve } from '../../api/_generated/schema'
import { chartThemes } from '../../lib/palette'
import { revisitFigure, solidPoints } from './figure'
import { recorded } from '../../mock-api/answer'

const theme = chartThemes.light
const answer = recorded('/v1/services/{service_id}/revisit', 'svc-redis')

function curveOf(kind: string): RevisitCurve {
  const found = answer.curves.find((curve) => curve.kind === kind)
  if (found === undefined) throw new RangeError(kind)
  return found
}

function traces(kind: string) {
  return revisitFigure(answer, curveOf(kind), 2, theme).data as unknown as {
    type: string
    name?: string
    x: number[]
    y: (number | null)[]
    width?: number
    fill?: string
    line: { dash?: string }
  }[]
}

describe('the revisit curve', () => {
  it('is dotted where under a twentieth of the memory is still watched', () => {
    expect(solidPoints({ at_risk_bytes: [100, 50, 6, 4, 1], last_known_lag: 5 })).toBe(3)
    expect(solidPoints({ at_risk_bytes: [100, 90, 80], last_known_lag: 2 })).toBe(2)
    const [solid, dotted] = traces('all').filter(({ name }) => name?.startsWith('all'))
    expect(dotted?.line.dash).toBe('dot')
    // The pieces meet, and nothing is drawn behind the last known lag.
    expect(dotted?.x[0]).toBe(solid?.x.at(-1))
    expect(dotted?.x.at(-1)).toBe(48)
  })

  it('hatches what nothing is known of', () => {
    const hatched = traces('file').find(({ type }) => type === 'bar')
    expect(hatched?.width).toBe(64 - 12)
    expect(hatched?.x[0]).toBe((12 + 64) / 2)
  })

  it('says which clock runs, in minutes', () => {
    const cold = recorded('/v1/services/{service_id}/revisit', 'svc-redis', 'clock=turned_cold')
    const layout = (which: typeof answer) => {
      const [first] = which.curves
      if (first === undefined) throw new RangeError('no curve')
      return revisitFigure(which, first, 3, theme).layout.xaxis?.title
    }
    expect(layout(answer)).toMatchObject({ text: 'minutes since last access' })
    expect(layout(cold)).toMatchObject({ text: 'minutes since turning cold (3 idle intervals)' })
    expect(layout({ ...answer, interval_seconds: 1 })).toMatchObject({ text: 'seconds since last access' })
    expect(layout({ ...answer, interval_seconds: null })).toMatchObject({ text: 'intervals since last access' })
  })

  it('draws a band for the chosen kind alone, and none where there is no interval', () => {
    expect(traces('anon').filter(({ fill }) => fill === 'toself')).toHaveLength(1)
    const single = { ...curveOf('anon'), lo: curveOf('anon').lo.map(() => null) }
    const data = revisitFigure(answer, single, 2, theme).data as { fill?: string }[]
    expect(data.some(({ fill }) => fill === 'toself')).toBe(false)
  })

  it('keeps unknown lags empty in the table', () => {
    const { table } = revisitFigure(answer, curveOf('all'), 2, theme)
    expect(table.rows[62]?.slice(2, 5)).toEqual([null, null, null])
    expect(table.rows[0]?.[2]).toBeCloseTo(0.9 * (1 - Math.exp(-0.2)))
  })
})

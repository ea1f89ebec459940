import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { pingPongFigure } from './figure'

const theme = chartThemes.light
const answer = recorded('/v1/hosts/{host_id}/ping-pong')
const traces = (over: Partial<typeof answer> = {}) =>
  pingPongFigure({ ...answer, ...over }, theme, []).data as unknown as {
    name?: string
    type: string
    x: string[]
    y: number[]
    yaxis?: string
  }[]

describe('ping-pong over time', () => {
  it('shows states by height as well as by colour', () => {
    const height = (name: string) => traces().find((trace) => trace.name === name)?.y[0] ?? 0
    expect(height('critical')).toBeGreaterThan(height('warning'))
    expect(height('warning')).toBeGreaterThan(height('ok'))
  })

  it('hatches where no state is known, and counts every bucket once', () => {
    const onStrip = traces().filter(({ yaxis }) => yaxis === 'y2')
    expect(onStrip.reduce((sum, { x }) => sum + x.length, 0)).toBe(answer.states.length)
    expect(onStrip[0]?.x).toHaveLength(answer.states.filter((state) => state === null).length)
  })

  it('draws a bound as an area and says so, and a measurement as a line', () => {
    expect(traces().at(-1)).toMatchObject({ name: 'at most', fill: 'tozeroy' })
    const measured = traces({ kind: 'measured' }).at(-1)
    expect(measured?.name).toBe('ping-pong')
    expect(measured).not.toHaveProperty('fill')
  })

  it('lists states beside the series', () => {
    const { table } = pingPongFigure(answer, theme, [])
    expect(table.columns.at(-1)).toBe('state')
    expect(table.rows[25]?.at(-1)).toBe('warn')
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { mockNow, mockWindow, timeAxis } from '../../mock-api/figures'
import { backtestFigure, type BacktestLine } from './figure'

const axis = timeAxis(4, 60)
const iso = (secondsAgo: number) => new Date((mockNow - secondsAgo) * 1000).toISOString()

const line: BacktestLine = {
  name: 'free_dram_ratio',
  unit: 'ratio',
  values: [0.2, 0.04, null, 0.08],
  threshold: 0.05,
  recovery: 0.07,
  words: [],
  spans: [
    { state: 'ok', from: mockWindow.start, to: iso(120), value: null },
    { state: 'firing', from: iso(120), to: null, value: 0.04 },
  ],
}

interface Trace {
  name?: string
  type: string
  x: unknown[]
  y: (number | null)[]
  connectgaps?: boolean
}

describe('a backtest', () => {
  const figure = backtestFigure(axis, line, chartThemes.light)
  const traces = figure.data as unknown as Trace[]

  it('draws the value in its unit, with gaps as gaps', () => {
    const value = traces.find(({ name }) => name === 'free_dram_ratio')
    expect(value?.y).toEqual([20, 4, null, 8])
    expect(value?.connectgaps).toBe(false)
    expect(figure.layout.yaxis?.title).toMatchObject({ text: '%' })
  })

  it('draws states under it, an open one up to the end', () => {
    const firing = traces.find(({ name }) => name === 'firing')
    expect(firing?.x).toEqual([120_000])
  })

  it('shades the dead band between threshold and recovery', () => {
    const band = figure.layout.shapes?.find((shape) => shape?.type === 'rect')
    expect(Number(band?.y0)).toBeCloseTo(7)
    expect(Number(band?.y1)).toBeCloseTo(5)
    const plain = backtestFigure(axis, { ...line, recovery: null }, chartThemes.light)
    expect(plain.layout.shapes?.some((shape) => shape?.type === 'rect')).toBe(false)
  })

  it('names the values of a series of states', () => {
    const states = { ...line, unit: 'state', words: ['ok', 'warn', 'crit'], values: [0, 2, null, 1] }
    expect(backtestFigure(axis, states, chartThemes.dark).layout.yaxis?.ticktext).toEqual(['ok', 'warn', 'crit'])
  })

  it('has the state of each moment in its table', () => {
    expect(figure.table.rows.map((row) => row[2])).toEqual(['ok', 'firing', 'firing', 'firing'])
  })
})

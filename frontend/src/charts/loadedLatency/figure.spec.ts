import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { loadedCurves, loadedLatencyFigure } from './figure'

const theme = chartThemes.light
const [bench] = recorded('/v1/hosts/{host_id}').hardware.benches
if (bench === undefined) throw new Error('the mock host has a bench')

describe('latency under load', () => {
  it('draws one curve per way and share of writes, by rising bandwidth', () => {
    const mixed = [...bench.loaded].reverse().map((point) => ({ ...point, write_ratio: 0.5 }))
    const curves = loadedCurves([{ ...bench, loaded: [...mixed, ...bench.loaded] }])
    expect(curves.map((curve) => curve.label)).toEqual(['node 0 → node 1, 0 % writes', 'node 0 → node 1, 50 % writes'])
    expect(curves[1]?.points.map((point) => point.threads)).toEqual([1, 2, 3])
    expect(loadedCurves([bench]).map((curve) => curve.label)).toEqual(['node 0 → node 1'])
  })

  it('says units on both axes, and draws the spread around each point', () => {
    const figure = loadedLatencyFigure([bench], theme)
    const trace = figure.data[0] as unknown as {
      x: number[]
      y: number[]
      error_y: { array: number[]; arrayminus: number[] }
      marker: { color: string[] }
    }
    expect(trace.x).toEqual([6, 12, 18])
    expect(trace.y).toEqual([212, 424, 636])
    expect(trace.error_y.array[0]).toBe(18)
    expect(trace.error_y.arrayminus[0]).toBe(7)
    const layout = figure.layout as { xaxis: { title: { text: string } }; yaxis: { title: { text: string } } }
    expect(layout.xaxis.title.text).toBe('bandwidth (GB/s)')
    expect(layout.yaxis.title.text).toBe('latency (ns)')
  })

  it('draws the same way of another host dashed, in its colour, on one scale', () => {
    const faster = { ...bench, loaded: bench.loaded.map((point) => ({ ...point, latency_ns: point.latency_ns * 20 })) }
    const beside = { label: 'cxl-7', missing: null, answer: [faster] }
    const figure = loadedLatencyFigure([bench], theme, beside)
    const [own, other] = figure.data as unknown as {
      y: number[]
      name: string
      line: { color: string; dash?: string }
    }[]
    expect(other?.name).toBe('node 0 → node 1, cxl-7')
    expect(other?.line).toMatchObject({ dash: 'dash', color: own?.line.color })
    expect((other?.y[0] ?? 0) / (own?.y[0] ?? 1)).toBeCloseTo(20)
    expect(figure.table.rows).toHaveLength(2 * bench.loaded.length)
  })

  it('shows a disturbed point hollow, and one without a spread without whiskers', () => {
    const plain = bench.loaded.map((point) => ({ ...point, latency_p10_ns: null, latency_p90_ns: null }))
    const trace = loadedLatencyFigure([{ ...bench, loaded: plain }], theme).data[0] as unknown as {
      error_y: { array: number[] }
      marker: { color: string[]; line: { color: string } }
    }
    expect(trace.error_y.array).toEqual([0, 0, 0])
    expect(trace.marker.color[2]).toBe(theme.surface)
    expect(trace.marker.color[0]).toBe(trace.marker.line.color)
  })
})

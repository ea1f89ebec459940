import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { heatTicks } from './heatTicks'
import { replayFigure } from './figure'
import { replayRows } from './rows'

const { series } = recorded('/v1/sweeps/{sweep_id}/runs/{run_id}', 'tpp-0.50')
if (series === null) throw new Error('the mock run has no series')
const theme = chartThemes.light

interface Trace {
  type: string
  name?: string
  x: number[]
  y: (number | null)[]
  z?: (number | null)[][]
  yaxis?: string
}

describe('the replay of a run', () => {
  it('stands under the heat of its trace, on the same minutes', () => {
    const traces = replayFigure(series, theme, recorded('/v1/sweeps/{sweep_id}/heat'), 60).data as unknown as Trace[]
    expect(traces[0]?.type).toBe('heatmap')
    expect(traces[0]?.x).toEqual(traces[1]?.x)
    expect(traces[0]?.x).toEqual([0, 1, 2, 3, 4, 5])
    expect(traces[0]?.z?.[1]?.[0]).toBeNull()
  })

  it('keeps an interval without accesses as a gap', () => {
    const all = (replayFigure(series, theme, null, 60).data as unknown as Trace[])[0]
    expect(all?.y[2]).toBeNull()
    expect(all?.y[0]).toBeCloseTo(80)
  })

  it('draws swap only where it was written to', () => {
    expect(replayRows(series).map(({ name }) => name)).toEqual(['local share', 'tier moves', 'DRAM free'])
    const swapping = { ...series, swap_written_bytes: series.interval.map(() => 4096) }
    expect(replayRows(swapping).at(-1)?.name).toBe('written to swap')
  })

  it('gives every row an axis of its own that does not overlap the others', () => {
    const { layout } = replayFigure(series, theme, recorded('/v1/sweeps/{sweep_id}/heat'), 60)
    const domains = [layout.yaxis, layout.yaxis2, layout.yaxis3, layout.yaxis4].map((axis) => axis?.domain ?? [0, 0])
    domains.slice(1).forEach((domain, index) => expect(domain[1]).toBeLessThan(domains[index]?.[0] ?? 0))
    expect(domains.at(-1)?.[0]).toBeCloseTo(0)
  })

  it('writes the colour bar in counts, not in powers', () => {
    expect(heatTicks([[0, 10, null]])).toEqual({
      tickvals: [0, 2, 4, 6, 8, 10],
      ticktext: ['0', '3', '15', '63', '255', '1.0k'],
    })
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { flatnessText, knobSearchFigure } from './figure'

const [search] = recorded('/v1/sweeps/{sweep_id}/results', 'sweep-1').searches
if (search === undefined) throw new Error('the mock has no search')

describe('a knob search', () => {
  it('marks the best by its sign and draws the least loss at each value', () => {
    const [line, runs] = knobSearchFigure(search, chartThemes.dark, 'demote_scale_factor').data as unknown as {
      x: number[]
      marker: { symbol: string[] }
    }[]
    expect(line?.x).toEqual([100, 200, 400])
    expect(runs?.marker.symbol).toEqual(['circle', 'star', 'circle'])
  })

  it('says how flat the best is', () => {
    expect(flatnessText(search)).toBe(
      'Moderately flat: 1 of 3 settings are as good as the best, within 5 % of its loss or a difference too small to tell: demote_scale_factor 200.',
    )
    expect(flatnessText({ ...search, best: null })).toBeNull()
    const { flatness } = search
    if (flatness === null) throw new Error('the mock has no flatness')
    expect(flatnessText({ ...search, flatness: { ...flatness, at_edge: ['demote_scale_factor'] } })).toContain(
      'beyond it',
    )
  })

  it('spreads values over decades on a logarithmic axis', () => {
    const points = search.points.map((point, index) => ({ ...point, settings: { limit: 10 ** (index + 1) } }))
    const wide = knobSearchFigure({ ...search, keys: ['limit'], points }, chartThemes.dark, 'limit')
    expect(wide.layout.xaxis?.type).toBe('log')
  })
})

import { describe, expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { frontierFigure, frontierPolicies, runAt } from './figure'

const results = recorded('/v1/sweeps/{sweep_id}/results', 'sweep-1')
const figure = frontierFigure(results, chartThemes.light, 'tpp-0.50')
const traces = figure.data as unknown as { name: string; x: number[]; y: number[]; marker?: { size: number[] } }[]

describe('the frontier of cost against loss', () => {
  it('places runs with a loss only, zero included', () => {
    const tpp = traces.find(({ name }) => name === 'TPP')
    expect(tpp?.y).toContain(0)
    expect(figure.table.rows.some((row) => row[3] === null)).toBe(false)
  })

  it('joins the runs that nothing beats, by price', () => {
    const line = traces[0]
    expect(line?.x).toEqual([...(line?.x ?? [])].sort((a, b) => a - b))
    expect(line?.x).toHaveLength(2)
  })

  it('gives each policy a sign and a colour of its own', () => {
    expect(new Set(frontierPolicies(results.cells).map(({ colour }) => colour)).size).toBe(2)
  })

  it('keeps policies apart where colours begin again', () => {
    const [cell] = results.cells
    if (cell === undefined) throw new Error('the mock has no cell')
    const many = Array.from({ length: 14 }, (_, index) => ({ ...cell, policy: `p${index}`, label: `P${index}` }))
    const drawn = frontierFigure({ cells: many, frontier: [] }, chartThemes.light, undefined).data.slice(1)
    const looks = (drawn as unknown as { marker: { color: string; symbol: string } }[]).map(
      ({ marker }) => `${marker.color} ${marker.symbol}`,
    )
    expect(new Set(looks).size).toBe(14)
  })

  it('finds the run of a point that was clicked', () => {
    const tpp = traces.find(({ name }) => name === 'TPP')
    expect(runAt(results.cells, tpp?.x[0], tpp?.y[0])).toBe('tpp-0.67')
    expect(runAt(results.cells, 3, 4)).toBeNull()
  })
})

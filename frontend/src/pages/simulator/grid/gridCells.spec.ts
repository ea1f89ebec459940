import { describe, expect, it } from 'vitest'
import { recorded } from '../../../mock-api/answer'
import { gridOf } from './gridCells'

function found(id: string) {
  const one = recorded('/v1/sweeps/{sweep_id}', id)
  if (one === undefined) throw new Error(`no sweep ${id}`)
  return one
}

describe('the grid of a sweep', () => {
  const grid = gridOf(found('sweep-1'), recorded('/v1/sweeps/{sweep_id}/results', 'sweep-1'), 'loss')

  it('has the most DRAM first, and a zero is a number', () => {
    expect(grid.columns.map(({ name }) => name)).toEqual(['2:1', '1:1', '1:4'])
    expect(grid.rows[1]?.places[0]).toMatchObject({ state: 'run', text: '0', level: 0 })
  })

  it('has a place without a value where the loss cannot be told', () => {
    expect(grid.rows[1]?.places[2]).toMatchObject({ state: 'run', text: '', level: null })
  })

  it('tells what is still to come from what failed', () => {
    const half = gridOf(found('sweep-2'), recorded('/v1/sweeps/{sweep_id}/results', 'sweep-2'), 'local')
    expect(half.rows[0]?.places.map(({ state }) => state)).toEqual(['run', 'pending', 'pending'])
    expect(half.rows[1]?.places[0]).toEqual({ state: 'failed', why: 'row 17: the page number is negative' })
    expect(gridOf(found('sweep-2'), undefined, 'loss').rows[0]?.places[0]).toEqual({ state: 'pending' })
  })

  it('gives all-DRAM a column of its own, and hatches where a policy does not run', () => {
    const running = { ...found('sweep-2'), policies: ['all_dram', 'first_touch'] }
    const half = gridOf(running, undefined, 'loss')
    expect(half.columns[0]?.name).toBe('all DRAM')
    expect(half.rows[0]?.places.map(({ state }) => state)).toEqual(['pending', 'none', 'none', 'none'])
    expect(half.rows[1]?.places.map(({ state }) => state)).toEqual(['none', 'pending', 'pending', 'pending'])
  })

  it('has the oracle only where it is known', () => {
    expect(grid.oracle).toEqual([0.99, 0.97, null])
  })
})

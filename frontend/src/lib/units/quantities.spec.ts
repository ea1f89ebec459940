import { describe, expect, it } from 'vitest'
import { findQuantity } from './quantities'

describe('findQuantity', () => {
  it('finds a definition by itself and by the name that it is one of', () => {
    expect(findQuantity('heat.hot_ratio/1')?.page).toBe('method/heat.md')
    expect(findQuantity('tier_moves.oom_kills/1')?.says).toMatch(/column of that name/)
    expect(findQuantity('tier_moves.oom_kills_per_s/1')?.says).toMatch(/a second/)
  })

  it('knows no other version and no other name', () => {
    expect(findQuantity('heat.hot_ratio/2')).toBeUndefined()
    expect(findQuantity('heat/1')).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { blankSku, gib, mostMemory, planFault, startingPlan } from './planEntry'

describe('a plan', () => {
  it('can be asked for as it starts', () => {
    expect(planFault(startingPlan)).toBeNull()
    expect(mostMemory(blankSku('a'))).toEqual({ dram: 24 * 64 * gib, cxl: 512 * gib })
  })

  it.each([
    ['no kind of host', []],
    ['a kind without a name', [blankSku(' ')]],
    ['two of one name', [blankSku('a'), blankSku('a')]],
    ['no module size', [{ ...blankSku('a'), dimm_bytes: [] }]],
    ['fewer slots than modules', [{ ...blankSku('a'), dram_slots: 4 }]],
  ])('is none with %s, and says why', (_, skus) => {
    expect(planFault({ ...startingPlan, skus })).toMatch(/\.$/)
  })
})

import { describe, expect, it } from 'vitest'
import { capacityPlan } from '../../mock-api/capacity'
import { planSentence } from './planSentence'

const plan = capacityPlan()
const [first] = plan.quarters

describe('what a plan comes to', () => {
  it.each([
    [12, 9, 'In 2026 Q4 it takes 9 hosts with tiering, 3 fewer than without it.'],
    [1, 1, 'In 2026 Q4 it takes 1 host with tiering, as many as without it.'],
    [4, 5, 'In 2026 Q4 it takes 5 hosts with tiering, 1 more than without it.'],
    [null, 9, 'In 2026 Q4 it takes 9 hosts with tiering; without, some service fits none of them.'],
    [null, null, 'Some service fits none of these hosts in 2026 Q4.'],
  ])('%s hosts without and %s with', (without, withTiers, sentence) => {
    const quarters =
      first === undefined ? [] : [{ ...first, hosts_without_tiering: without, hosts_with_tiering: withTiers }]
    expect(planSentence({ quarters })).toBe(sentence)
  })
})

import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { planSentence } from './planSentence'

const plan = recorded('/v1/capacity/plan')
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

  it.each([
    [
      9,
      8,
      'In 2026 Q4 it takes 9 hosts with tiering; without, some service fits none of them. With cold memory on swap it takes 8 hosts.',
    ],
    [null, 8, 'In 2026 Q4 it takes 8 hosts with cold memory on swap; without swap, some service fits none of them.'],
  ])('%s hosts with tiering and %s with swap, none without', (withTiers, swapped, sentence) => {
    const hosts = { hosts_without_tiering: null, hosts_with_tiering: withTiers, hosts_with_swap: swapped }
    expect(planSentence({ quarters: first === undefined ? [] : [{ ...first, ...hosts }] })).toBe(sentence)
  })
})

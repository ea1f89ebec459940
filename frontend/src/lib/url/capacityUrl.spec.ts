import { describe, expect, it } from 'vitest'
import { readCapacitySearch } from './capacityUrl'

describe('the URL of the capacity page', () => {
  it('gives back a view, and drops what is none', () => {
    const capacity = { tab: 'plan', group: 'label:team', metric: 'hot', horizon: 90, plan: { headroom_ratio: 0.2 } }
    expect(readCapacitySearch(capacity)).toMatchObject(capacity)
    expect(readCapacitySearch({ tab: 'x', horizon: 91 })).toMatchObject({ tab: undefined, horizon: undefined })
  })
})

import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { armsOf, blankEntry, entryOf, requestOf } from './experimentEntry'

const now = Date.parse('2026-11-21T12:00:00Z')
const filled = { ...blankEntry('svc-1'), name: ' Limit promotion ' }

/** Arms of the three hosts of a proposal, with so many canaries. */
function proposed(canaries: number) {
  const proposal = recorded('/v1/advice/plan/canaries')
  const hosts = [...proposal.canary, ...proposal.control]
  return { ...proposal, canary: hosts.slice(0, canaries), control: hosts.slice(canaries) }
}

describe('the request of the form', () => {
  it('counts times from the change', () => {
    expect(requestOf({ ...filled, startsIn: 2 }, 'throughput', 'adv-1', now)).toMatchObject({
      name: 'Limit promotion',
      service_id: 'svc-1',
      advice_id: 'adv-1',
      metrics: [{ metric: 'throughput', margin_ratio: 0.01 }],
      auto: { canary_n: 5 },
      before_from: '2026-11-20T14:00:00.000Z',
      change_at: '2026-11-21T14:00:00.000Z',
      planned_end: '2026-11-22T14:00:00.000Z',
      settling_seconds: 1800,
    })
  })

  it('takes the metric that was chosen before the one that is offered', () => {
    expect(requestOf({ ...filled, metric: 'load' }, 'throughput', undefined, now)?.metrics[0]?.metric).toBe('load')
  })

  it.each([
    ['no name', { name: '  ' }],
    ['no service', { service: '' }],
    ['an empty margin', { margin: '' }],
    ['half a host', { canary: 2.5 }],
    ['a settling time as long as the run', { hours: 0.5 }],
    ['a change in the past', { startsIn: -1 }],
  ])('is none with %s', (_, change) => {
    expect(requestOf({ ...filled, ...change }, 'throughput', undefined, now)).toBeNull()
  })

  it('names the hosts of a proposal, and is none where an arm is empty', () => {
    const proposal = proposed(2)
    const request = requestOf(entryOf(proposal), 'throughput', 'adv-1', now, armsOf(proposal))
    expect(request).toMatchObject({ auto: null, canary: ['h-1', 'h-2'], control: ['h-3'], service_id: 'svc-redis' })
    expect(request?.seed).toBe(proposal.seed)
    const alone = proposed(3)
    expect(requestOf(entryOf(alone), 'throughput', 'adv-1', now, armsOf(alone))).toBeNull()
  })

  it('is none while no metric is known', () => {
    expect(requestOf(filled, undefined, undefined, now)).toBeNull()
  })
})

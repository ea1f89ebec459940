import { describe, expect, it } from 'vitest'
import { recorded } from '../../../mock-api/answer'
import { blankEntry, bookedSlowPrice, countRuns, offeredSettings, readValues, requestOf, sweepName } from './sweepEntry'

const simulatorPolicies = recorded('/v1/simulator/policies')
const simulatorSources = recorded('/v1/simulator/sources')

const range = { from: '2026-11-21T00:00:00Z', to: '2026-11-21T06:00:00Z' }
const filled = {
  ...blankEntry('svc-redis'),
  slowPrice: 50,
  name: ' Before buying ',
  policies: ['first_touch', 'tpp'],
  dramRatios: [0.5, 2 / 3],
}
const factor = simulatorPolicies.policies[2]?.settings[0]
if (factor === undefined) throw new Error('the mock has no setting')

describe('the name of a sweep', () => {
  it('is what was typed, else what is replayed', () => {
    expect(sweepName(filled, simulatorSources)).toBe('Before buying')
    expect(sweepName({ ...filled, name: ' ' }, simulatorSources)).toBe(simulatorSources.services[0]?.name)
    expect(sweepName({ ...filled, name: '', kind: 'workload', workload: 'zipf' }, undefined)).toBe('zipf')
    expect(sweepName({ ...filled, name: '', service: null }, simulatorSources)).toBe('')
  })
})

describe('the price of slow memory', () => {
  it('is that of the price book, as TCO takes it, and none where either has no price', () => {
    const [price] = recorded('/v1/prices').items
    if (price === undefined) throw new Error('the price book is empty')
    const dram = { ...price, item: 'dram' as const, value: 12, currency: 'USD', in_force: true }
    const slow = { ...dram, item: 'cxl_media' as const, value: 9 }
    expect(bookedSlowPrice([dram, slow])).toBe(75)
    expect(bookedSlowPrice([dram, { ...slow, in_force: false }])).toBeNull()
    expect(bookedSlowPrice([dram, { ...slow, currency: 'EUR' }])).toBeNull()
  })
})

describe('the values of a setting', () => {
  it('are one, several, or wrong with a reason', () => {
    expect(readValues('', factor)).toEqual([])
    expect(readValues('100, 200 200', factor)).toEqual([100, 200])
    expect(readValues('100, many', factor)).toContain('numbers')
    expect(readValues('0', factor)).toBe('0 is outside 1 to 10000.')
  })

  it('of a switch are words, too', () => {
    const decoupled = simulatorPolicies.policies[2]?.settings[1]
    expect(decoupled && readValues('on, off', decoupled)).toEqual([1, 0])
  })
})

describe('the request of the form', () => {
  it('sets single values, searches over several, and puts the most DRAM first', () => {
    const entry = { ...filled, values: { demote_scale_factor: '100, 400', slow_latency_ns: '250' } }
    expect(requestOf(entry, simulatorPolicies, range)).toEqual({
      name: 'Before buying',
      source: { kind: 'service', service_id: 'svc-redis', host_id: null },
      policies: ['first_touch', 'tpp'],
      dram_ratios: [2 / 3, 0.5],
      settings: { slow_latency_ns: 250 },
      search: { demote_scale_factor: [100, 400] },
      seed: null,
      cost: { slow_price_ratio: 0.5, swap_price_ratio: 0.03 },
    })
    expect(countRuns(entry, simulatorPolicies)).toEqual({ grid: 4, search: 4 })
    const withDefault = { ...entry, values: { demote_scale_factor: '100, 200' } }
    expect(countRuns(withDefault, simulatorPolicies)).toEqual({ grid: 4, search: 2 })
  })

  it('narrows the sample to the time range when asked to', () => {
    expect(requestOf({ ...filled, inRange: true }, simulatorPolicies, range)?.source).toMatchObject(range)
  })

  it.each([
    ['no name', { name: '  ' }],
    ['no service', { service: null }],
    ['no policy', { policies: [] }],
    ['no DRAM share', { dramRatios: [] }],
    ['half a seed', { seed: 1.5 }],
    ['a price of nothing', { slowPrice: 0 }],
    ['a wrong value', { values: { demote_scale_factor: 'x' } }],
    ['a workload that is not chosen', { kind: 'workload' as const }],
  ])('is none with %s', (_, change) => {
    expect(requestOf({ ...filled, ...change }, simulatorPolicies, range)).toBeNull()
  })

  it('leaves out values of policies that were taken out again', () => {
    const entry = { ...filled, policies: ['first_touch'], values: { demote_scale_factor: '100' } }
    expect(requestOf(entry, simulatorPolicies, range)?.settings).toEqual({})
    expect(offeredSettings(simulatorPolicies, ['first_touch']).map(({ name }) => name)).toEqual(['slow_latency_ns'])
  })
})

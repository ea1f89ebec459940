import { expect, it } from 'vitest'
import { relevantEvents } from './events'

const event = (at: string, host_id: string | null, service_id: string | null) => ({ at, host_id, service_id })
const everywhere = event('2026-11-21T03:00:00Z', null, null)
const onHost = event('2026-11-21T02:00:00Z', 'h-1', null)
const ofService = event('2026-11-21T01:00:00Z', null, 's-1')
const elsewhere = event('2026-11-21T00:00:00Z', 'h-9', null)
const otherThere = event('2026-11-21T00:30:00Z', 'h-1', 's-9')
const all = [everywhere, onHost, ofService, elsewhere, otherThere]

it('keeps what happened to the subject, to its hosts and to the fleet, oldest first', () => {
  expect(relevantEvents(all, { services: ['s-1'], hosts: ['h-1'] })).toEqual([ofService, onHost, everywhere])
})

it('leaves out another service on the same host', () => {
  expect(relevantEvents(all, { services: [], hosts: ['h-1'] })).toEqual([onHost, everywhere])
})

it('shows the fleet everything', () => {
  expect(relevantEvents(all, 'fleet')).toHaveLength(5)
})

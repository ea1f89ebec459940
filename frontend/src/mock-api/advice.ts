import type { AdviceCard } from '../api/_generated/schema'
import { mockNow } from './figures'

const at = (hours: number) => new Date((mockNow + hours * 3600) * 1000).toISOString()

function card(id: string, over: Partial<AdviceCard>): AdviceCard {
  return {
    id,
    kind: 'ratio',
    key: 'ratio',
    title: 'DRAM:CXL ratio 2:1 is enough',
    sentence: 'At 2:1 the expected loss is 0.2 % (95 %: at most 0.9 %).',
    subject_name: 'prod/redis',
    service_id: 'svc-redis',
    host_id: null,
    host_ids: [],
    hosts: 12,
    advice_ids: [id],
    origin: 'simulated',
    stake_bytes: 3 * 1024 ** 4,
    status: 'open',
    created_at: at(-48),
    refreshed_at: at(-1),
    expires_at: at(24 * 13),
    decided_at: null,
    decided_by: null,
    note: null,
    ...over,
  }
}

/** Stored advice of the mock fleet: a ratio, a setting of several hosts, and one that was dismissed. */
export const advice: AdviceCard[] = [
  card('adv-1', {}),
  card('adv-2', {
    kind: 'knob',
    key: 'F4',
    title: 'Limit the rate of promotion',
    sentence: 'Each promotion pushes out another hot page: 1,400 pages/s go up and come down.',
    subject_name: 'host-01',
    service_id: null,
    host_id: null,
    host_ids: ['h-1', 'h-2'],
    hosts: 2,
    advice_ids: ['adv-2', 'adv-3'],
    stake_bytes: null,
  }),
  card('adv-4', { status: 'dismissed', decided_by: 'ana', decided_at: at(-2), note: 'waits for the new hosts' }),
]

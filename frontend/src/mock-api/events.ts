import type { EventItem } from '../api/_generated/schema'
import { mockNow } from './figures'

function event(id: string, hoursAgo: number, kind: string, text: string, over: Partial<EventItem> = {}): EventItem {
  const at = new Date((mockNow - hoursAgo * 3600) * 1000).toISOString()
  return { id, at, kind, text, host_id: null, service_id: null, author: 'ci', ...over }
}

/** Events of the mock fleet, newest first; one has a hostile text, one belongs to another service. */
export const events: EventItem[] = [
  event('4', 1, 'note', '<img src=x onerror=alert(1)>'),
  event('3', 2, 'deploy', 'release 2026.47', { service_id: 'svc-redis' }),
  event('2', 3, 'knob', 'vm.swappiness 60 -> 10', { host_id: 'h-1' }),
  event('1', 4, 'deploy', 'release 9', { service_id: 'svc-feed' }),
]

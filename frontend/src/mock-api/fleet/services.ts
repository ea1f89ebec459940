import type { ServiceDetail, ServiceSummary } from '../../api/_generated/schema'
import { figure, heatShare, mockNow, nothing } from '../figures'
import { servicePods } from './pods'

const gib = 1024 ** 3

function service(
  id: string,
  namespace: string,
  name: string,
  bytes: number,
  hot: number,
  warm: number,
  verdict: string,
): ServiceSummary {
  return {
    id,
    namespace,
    name,
    origin: 'simulated',
    owner_team: id === 'svc-redis' ? { id: 'team-1', name: 'Storage' } : null,
    n_hosts: 20,
    n_hosts_with_heat: 6,
    resident_bytes: figure('heat.resident_bytes/1', bytes, 'bytes', { n_hosts: 20 }),
    anon_ratio: figure('heat.anon_ratio/1', 0.71, 'ratio', { n_hosts: 20 }),
    hot_ratio: heatShare('heat.hot_ratio/1', hot),
    warm_ratio: heatShare('heat.warm_ratio/1', warm),
    cold_ratio: heatShare('heat.cold_ratio/1', 1 - hot - warm),
    hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', bytes * hot * 0.1, 'bytes', { n_hosts: 6 }),
    cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', bytes * (1 - hot - warm) * 0.6, 'bytes', { n_hosts: 6 }),
    method: 'abit',
    promotion_pages_per_s: figure('tier_moves.promoted_pages_per_s/1', bytes / gib / 3, 'pages_per_s', { n_hosts: 20 }),
    demotion_pages_per_s: figure('tier_moves.demoted_pages_per_s/1', bytes / gib / 2.5, 'pages_per_s', { n_hosts: 20 }),
    psi_memory_some_ratio: figure('psi.memory_some_ratio/1', 0.004, 'ratio', { n_hosts: 20 }),
    verdict,
    last_seen: new Date(mockNow * 1000).toISOString(),
  }
}

const unmeasured: ServiceSummary = {
  ...service('svc-batch', 'batch', 'nightly-reports', 220 * gib, 0, 0, 'not_known'),
  n_hosts_with_heat: 0,
  method: null,
  hot_ratio: nothing('heat.hot_ratio/1', 'ratio', 'not_collected', 'Heat is not switched on for this service.'),
  warm_ratio: nothing('heat.warm_ratio/1', 'ratio', 'not_collected', 'Heat is not switched on for this service.'),
  cold_ratio: nothing('heat.cold_ratio/1', 'ratio', 'not_collected', 'Heat is not switched on for this service.'),
  hot_outside_dram_bytes: nothing('heat.hot_outside_dram_bytes/1', 'bytes', 'not_collected', 'Heat is not measured.'),
  cold_in_dram_bytes: nothing('heat.cold_in_dram_bytes/1', 'bytes', 'not_collected', 'Heat is not measured.'),
  psi_memory_some_ratio: nothing(
    'psi.memory_some_ratio/1',
    'ratio',
    'not_supported',
    'The kernel is built without PSI.',
  ),
  promotion_pages_per_s: nothing(
    'tier_moves.promoted_pages_per_s/1',
    'pages_per_s',
    'not_enough_data',
    'One interval is not enough for a rate.',
  ),
}

/** The services of the mock fleet; one has a hostile name, one has no heat. */
export const services: ServiceSummary[] = [
  service('svc-redis', 'shop', 'redis-sessions', 1480 * gib, 0.31, 0.22, 'healthy'),
  service('svc-pg', 'shop', 'orders-postgres', 2210 * gib, 0.12, 0.25, 'futile_ping_pong'),
  service('svc-feed', 'search', 'feed-ranker', 940 * gib, 0.55, 0.2, 'spill'),
  service('svc-cache', 'search', 'page-cache', 640 * gib, 0.08, 0.11, 'harmless_demotion'),
  service('svc-jvm', 'ads', 'bid-server', 410 * gib, 0.62, 0.28, 'limiter_bound'),
  service('svc-evil', 'web', '<b>=HYPERLINK("x")</b>', 120 * gib, 0.2, 0.3, 'fits'),
  unmeasured,
]

/** One service as the API answers it. */
export function serviceDetail(id: string): ServiceDetail | undefined {
  const summary = services.find((candidate) => candidate.id === id)
  if (summary === undefined) return undefined
  return {
    summary,
    headline: `${Math.round((summary.cold_ratio.value ?? 0) * 100)} % of ${summary.name}’s memory has been cold for 10 min; 41.2 GiB of hot memory lies outside DRAM.`,
    aliases: [],
    heat_reason:
      summary.n_hosts_with_heat === 0
        ? 'Heat is opt-in: list the service under heat.services in the agent’s file.'
        : null,
    hosts: ['h-1', 'h-2', 'h-3'],
    n_pods: servicePods(id).length,
    owner: id === 'svc-redis' ? { kind: 'StatefulSet', name: 'redis-sessions', source: 'api' } : null,
    events: [
      {
        at: new Date((mockNow - 7200) * 1000).toISOString(),
        kind: 'deploy',
        text: 'release 2026.47',
        host_id: null,
        service_id: id,
      },
    ],
  }
}

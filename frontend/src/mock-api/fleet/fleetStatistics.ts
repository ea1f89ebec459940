import type { FleetStatistics, Group } from '../../api/_generated/schema'
import { mockNow, mockWindow } from '../figures'

const key: Group['key'] = {
  service_id: 'svc-redis',
  service: 'prod/redis',
  sku: 'epyc-9654 768 GiB',
  ratio: '2:1',
  kernel: '6.12',
  agent_version: '0.1.0',
}

/** Statistics of the mock fleet: one group, one host that stands apart, and one change beside a deploy. */
export function fleetStatistics(): FleetStatistics {
  return {
    window: mockWindow,
    newest_hour: mockNow,
    groups: [
      {
        key,
        n_hosts: 12,
        confounders: ['Confounder rdma_smc: host-01 have RDMA or SMC-R, unlike the other peers.'],
        metrics: [
          {
            metric: 'hot_ratio',
            label: 'Hot share',
            unit: 'ratio',
            n: 288,
            quantiles: { p10: 0.2, p50: 0.25, p90: 0.31, p99: 0.36 },
            source: 'raw',
            shrunk: null,
          },
        ],
      },
    ],
    outliers: [
      {
        host_id: 'h-1',
        host: 'host-01',
        metric: 'hot_ratio',
        label: 'Hot share',
        unit: 'ratio',
        value: 0.62,
        median: 0.25,
        score: 6.4,
        windows: 3,
        group: key,
        confounders: ['Confounder rdma_smc: host-01 have RDMA or SMC-R, unlike the other peers.'],
      },
    ],
    changes: [
      {
        at: mockNow - 7200,
        service_id: 'svc-redis',
        subject: 'prod/redis',
        metric: 'cold_ratio',
        label: 'Cold share',
        unit: 'ratio',
        direction: 'rise',
        before: 0.4,
        after: 0.55,
        found_by: 'pelt',
        matched: [{ id: '3', at: mockNow - 7100, kind: 'deploy', text: 'release 2026.47' }],
      },
    ],
    missing: null,
    notes: [],
  }
}

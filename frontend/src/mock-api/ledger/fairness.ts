import type {
  FairShare,
  HostFairness,
  HostLimits,
  LimitOutcome,
  ServiceFairness,
  TenantShare,
} from '../../api/_generated/schema'
import { figure, mockWindow, nothing, timeAxis, wave } from '../figures'

const count = 72
const gib = 2 ** 30
const absent = 'memory.low of this cgroup is not collected.'

function fairShare(basis: FairShare['basis'], held: number, fair: number | null): FairShare {
  const bounds = { lo: (held - (fair ?? 0)) * 0.8, hi: (held - (fair ?? 0)) * 1.2 }
  return {
    basis,
    meaning: 'made for tests',
    claim_bytes: nothing('fairness.claim_bytes/1', 'bytes', 'not_supported', absent),
    fair_bytes:
      fair === null
        ? nothing('fairness.fair_bytes/1', 'bytes', 'not_collected', absent)
        : figure('fairness.fair_bytes/1', fair, 'bytes'),
    over_bytes:
      fair === null
        ? nothing('fairness.over_bytes/1', 'bytes', 'not_collected', absent)
        : figure('fairness.over_bytes/1', held - fair, 'bytes', {
            interval: {
              lo: Math.min(bounds.lo, bounds.hi),
              hi: Math.max(bounds.lo, bounds.hi),
              level: null,
              kind: 'bounds',
            },
          }),
  }
}

function tenant(id: string, name: string, held: number, fair: number): TenantShare {
  return {
    id,
    name,
    source: 'memory.numa_stat',
    top_bytes: figure('fairness.top_bytes/1', held, 'bytes'),
    resident_bytes: figure('fairness.resident_bytes/1', held * 1.8, 'bytes'),
    top_share: figure('fairness.top_share/1', held / (64 * gib), 'ratio'),
    demoted_pages: figure('fairness.demoted_pages/1', 41_000, 'pages'),
    fair: [
      fairShare('hot', held, fair),
      fairShare('resident', held, fair * 0.9),
      fairShare('protection', held, null),
      fairShare('limit', held, null),
    ],
  }
}

/** Fairness on a host as the API answers it: one service far above its fair share, another below, and who pushed. */
export function hostFairness(hostId: string): HostFairness {
  const tenants = [
    tenant('svc-batch', 'demo/batch', 34 * gib, 18 * gib),
    tenant('svc-redis', 'demo/redis', 20 * gib, 36 * gib),
  ]
  const line = (key: string, label: string, unit: string, level: number, phase: number) => ({
    key,
    label,
    unit,
    values: wave(count, level, level * 0.2, phase),
  })
  return {
    host_id: hostId,
    host: 'db-001',
    origin: 'simulated',
    window: mockWindow,
    axis: timeAxis(count, 300),
    by: 'service',
    basis: 'hot',
    basis_note: 'Hot memory is measured of all tenants.',
    top_bytes: figure('fairness.top_tier_bytes/1', 64 * gib, 'bytes'),
    held_bytes: figure('fairness.held_bytes/1', 54 * gib, 'bytes'),
    tenants,
    series: tenants.flatMap(({ id, name }, index) => [
      line(`held:${id}`, `${name}, held`, 'ratio', 0.5 - index * 0.2, index),
      line(`fair:${id}`, `${name}, fair share`, 'ratio', 0.3 + index * 0.2, index + 1),
      line(`demoted:${id}`, `${name}, demoted`, 'pages_per_s', 100 * index, 2),
      line(`taken:${id}`, `${name}, taken of the top tier`, 'pages_per_s', 120, 3),
    ]),
    pushes: [
      {
        victim: 'svc-redis',
        taker: 'svc-batch',
        pages: figure('fairness.pushed_pages/1', 30_000, 'pages', {
          interval: { lo: 12_000, hi: 41_000, level: null, kind: 'bounds' },
        }),
        correlation: { value: 0.71, lo: 0.44, hi: 0.86, n_effective: 48 },
        sureness: 'counted',
      },
      {
        victim: 'svc-redis',
        taker: null,
        pages: figure('fairness.pushed_pages/1', 11_000, 'pages', {
          interval: { lo: 0, hi: 29_000, level: null, kind: 'bounds' },
        }),
        correlation: null,
        sureness: 'possible',
      },
    ],
    notes: ['Demotions of cgroups are counted; for whom pages left is not.'],
  }
}

function outcome(held: number, local: number): LimitOutcome {
  const around = (value: number) =>
    ({ interval: { lo: value * 0.9, hi: value * 1.1, level: 0.95, kind: 'confidence' } }) as const
  return {
    top_bytes: figure('fairness.replayed_top_bytes/1', held, 'bytes'),
    local_ratio: figure('fairness.replayed_local_ratio/1', local, 'ratio', around(local)),
    loss_ratio: figure('fairness.replayed_loss_ratio/1', (1 - local) / 4, 'ratio', around((1 - local) / 4)),
  }
}

/** What the proposed protection would do, as the API answers it. */
export function hostLimits(hostId: string): HostLimits {
  const redis = { id: 'svc-redis', name: 'demo/redis', low_bytes: 44 * gib }
  const setting = { top_max_bytes: null, local_change: figure('fairness.replayed_local_change/1', 0.1, 'ratio') }
  return {
    host_id: hostId,
    host: 'db-001',
    origin: 'simulated',
    window: mockWindow,
    policy: 'tpp',
    policy_label: 'TPP',
    policy_why: 'numa_balancing is 2, demotion is on, and the kernel has TPP',
    basis: 'hot',
    asked: false,
    tenants: [
      {
        ...redis,
        ...setting,
        fair_bytes: figure('fairness.fair_bytes/1', 36 * gib, 'bytes'),
        before: outcome(20 * gib, 0.7),
        after: outcome(36 * gib, 0.9),
      },
      {
        id: 'svc-batch',
        name: 'demo/batch',
        low_bytes: null,
        ...setting,
        fair_bytes: figure('fairness.fair_bytes/1', 18 * gib, 'bytes'),
        before: outcome(34 * gib, 0.95),
        after: outcome(18 * gib, 0.85),
      },
    ],
    proposal: redis,
    proposal_note: 'memory.low of 45,056 MiB is the smallest with which demo/redis holds its fair share.',
    reason: null,
    notes: ['Simulated: 120 intervals (120 min) in which all these services were sampled.'],
  }
}

/** A service that lacks most of its fair share on one host, and holds more on another. */
export function serviceFairness(serviceId: string): ServiceFairness {
  const host = (name: string, held: number, below: string | null) => ({
    host_id: name,
    host: name,
    tenant: tenant(serviceId, 'demo/redis', held * gib, 36 * gib),
    n_tenants: 2,
    worst_below: below,
  })
  return {
    service_id: serviceId,
    service: 'demo/redis',
    origin: 'simulated',
    window: mockWindow,
    basis: 'hot',
    over_bytes: figure('fairness.over_bytes_of_hosts/1', -14 * gib, 'bytes'),
    hosts: [host('db-002', 38, 'demo/batch'), host('db-001', 20, null)],
    n_left_out: 0,
    notes: [],
  }
}

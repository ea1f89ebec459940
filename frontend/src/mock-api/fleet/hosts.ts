import type { Finding, HostCounts, HostDetail, HostsAway, HostSummary, NodeInfo } from '../../api/_generated/schema'
import { figure, mockNow, nothing } from '../figures'
import { mockAgent, mockCollectors, mockHardware } from './hostParts'
import { podsState } from './pods'

const gib = 1024 ** 3

const pingPong: Finding = {
  id: 'ping-pong',
  severity: 'critical',
  cause: 'At most 71 % of the promoted pages had been demoted before.',
  fix: 'Raise the demotion watermark distance (vm.watermark_scale_factor) or lower the promotion rate limit.',
  confidence: 'likely',
  since: new Date((mockNow - 5400) * 1000).toISOString(),
}

const clock: Finding = {
  id: 'clock-skew',
  severity: 'warning',
  cause: 'The host’s clock is 42 s ahead of the service.',
  fix: 'Start an NTP client on the host; its times are corrected meanwhile.',
  confidence: 'certain',
  since: new Date((mockNow - 86400) * 1000).toISOString(),
}

/** All database nodes answer: every host is counted. */
export const noneAway: HostsAway = { nodes: [], hosts_away: 0, counted_at: null }

/** The hosts of the mock fleet. */
export const hosts: HostSummary[] = Array.from({ length: 18 }, (_, index): HostSummary => {
  const tiered = index % 4 !== 3
  return {
    id: `h-${index + 1}`,
    name: `rack${1 + (index % 3)}-node${String(index + 1).padStart(2, '0')}`,
    origin: 'simulated',
    state: index === 4 ? 'late' : index === 9 ? 'silent' : 'reporting',
    enrolled_at: new Date((mockNow - (30 + index) * 86_400) * 1000).toISOString(),
    last_seen: new Date((mockNow - (index === 9 ? 9000 : 20 + index)) * 1000).toISOString(),
    kernel: index % 5 === 0 ? '6.1.0-27' : '6.18.2',
    dialect: 'mainline',
    labels: { sku: tiered ? 'cxl-2to1' : 'dram-only', rack: `r${1 + (index % 3)}` },
    memory_bytes: figure('host.memory_bytes/1', (tiered ? 768 : 512) * gib, 'bytes'),
    tiers: tiered ? ['dram', 'cxl'] : ['dram'],
    services: ['svc-redis', 'svc-pg'],
    promotion_pages_per_s: tiered
      ? figure('tier_moves.promoted_pages_per_s/1', 120 + index * 31, 'pages_per_s')
      : nothing('tier_moves.promoted_pages_per_s/1', 'pages_per_s', 'not_supported', 'One tier only.'),
    demotion_pages_per_s: tiered
      ? figure('tier_moves.demoted_pages_per_s/1', index === 2 ? 0 : 140 + index * 29, 'pages_per_s')
      : nothing('tier_moves.demoted_pages_per_s/1', 'pages_per_s', 'not_supported', 'One tier only.'),
    psi_memory_some_ratio: figure('psi.memory_some_ratio/1', 0.002 * index, 'ratio'),
    verdict: index === 0 ? 'futile_ping_pong' : tiered ? 'healthy' : 'fits',
    tiering_off: tiered && index % 7 === 2,
    findings: index === 0 ? [clock, pingPong] : index % 6 === 5 ? [clock] : [],
    agent_version: index === 4 ? '0.0.9' : '0.1.0',
  }
})

/** How many of them there are by state. */
export const hostCounts: HostCounts = {
  hosts: hosts.length,
  reporting: hosts.filter(({ state }) => state === 'reporting').length,
  late: hosts.filter(({ state }) => state === 'late').length,
  silent: hosts.filter(({ state }) => state === 'silent').length,
  retired: 0,
}

/** What words of a search are looked for in. */
export function hostText({ name, kernel, tiers, labels }: HostSummary): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return [name, kernel, ...tiers, ...pairs].join(' ').toLowerCase()
}

function node(id: number, tierClass: string, total: number, free: number, cpus: string): NodeInfo {
  return {
    id,
    tier_class: tierClass,
    tier_evidence: tierClass === 'dram' ? 'has CPUs; memory_tier4' : 'no CPUs; CXL region; memory_tier22',
    tier_rank: tierClass === 'dram' ? 4 : 22,
    cpulist: cpus,
    memory_bytes: total,
    free_bytes: free,
    watermark_low_bytes: total * 0.012,
    watermark_high_bytes: total * 0.016,
    watermark_promo_bytes: total * 0.02,
    anon_bytes: (total - free) * 0.6,
    file_bytes: (total - free) * 0.3,
    distances: tierClass === 'dram' ? [10, 20, 24] : [24, 24, 10],
    read_latency_ns: tierClass === 'dram' ? 96 : 254,
    write_latency_ns: tierClass === 'dram' ? 96 : 254,
    read_bandwidth_mib_per_s: tierClass === 'dram' ? 210_000 : 52_000,
    write_bandwidth_mib_per_s: tierClass === 'dram' ? 160_000 : 41_000,
  }
}

/** One host as the API answers it. */
export function hostDetail(id: string): HostDetail | undefined {
  const summary = hosts.find((host) => host.id === id)
  if (summary === undefined) return undefined
  return {
    summary,
    headline:
      'Pages bounce between DRAM and CXL: at most 71 % of promotions undo an earlier demotion; memory pressure is 0.4 %.',
    architecture: 'x86_64',
    cpu_model: 'Example Xeon 6 6980P',
    cpus_online: 128,
    page_size_bytes: 4096,
    cgroup_version: '2',
    boot_id: '4c1b7a52-0b5e-4a53-9f30-0d5a6d1e7c11',
    inventory_at: new Date((mockNow - 4000) * 1000).toISOString(),
    nodes: [
      node(0, 'dram', 256 * gib, 3.1 * gib, '0-63'),
      node(1, 'dram', 256 * gib, 61 * gib, '64-127'),
      node(2, 'cxl', 256 * gib, 118 * gib, ''),
    ],
    knobs: [
      { path: '/proc/sys/kernel/numa_balancing', value: '2', choices: [], unavailable: null },
      { path: '/proc/sys/vm/watermark_scale_factor', value: '10', choices: [], unavailable: null },
      { path: '/sys/kernel/mm/numa/demotion_enabled', value: 'true', choices: [], unavailable: null },
      {
        path: '/sys/kernel/mm/transparent_hugepage/enabled',
        value: 'madvise',
        choices: ['always', 'madvise', 'never'],
        unavailable: null,
      },
      {
        path: '/sys/kernel/mm/lru_gen/enabled',
        value: null,
        choices: [],
        unavailable: 'This kernel is built without multi-generation LRU.',
      },
    ],
    collectors: mockCollectors(),
    services: [
      {
        id: 'svc-redis',
        namespace: 'shop',
        name: 'redis-sessions',
        rule: 'systemd unit',
        processes: 4,
        heat_measured: true,
        heat_reason: null,
      },
      {
        id: 'svc-pg',
        namespace: 'shop',
        name: 'orders-postgres',
        rule: 'systemd unit',
        processes: 31,
        heat_measured: false,
        heat_reason: 'not chosen for heat today',
      },
    ],
    pods: id === 'h-1' ? podsState() : null,
    swaps: [
      {
        name: '/dev/nvme0n1p3',
        kind: 'partition',
        size_bytes: 64 * gib,
        used_bytes: 1.4 * gib,
        priority: -2,
        zoned: null,
        discard: true,
        rotational: false,
      },
    ],
    hardware: mockHardware(),
    agent: mockAgent(),
    agent_rss_bytes: figure('agent.rss_bytes/1', 6.4 * 1024 ** 2, 'bytes'),
    agent_cpu_ratio: figure('agent.cpu_ratio/1', 0.0031, 'ratio'),
    clock_skew_seconds: 0.2,
  }
}

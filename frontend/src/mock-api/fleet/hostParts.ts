import type { AgentInfo, CollectorInfo, Hardware } from '../../api/_generated/schema'
import { figure, mockNow, nothing } from '../figures'

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

function collector(over: Partial<CollectorInfo> & { name: string }): CollectorInfo {
  return {
    active: true,
    reason: null,
    enable_hint: null,
    granularity: null,
    privilege: null,
    sees: null,
    cost: null,
    capabilities: [],
    cpu_ratio: figure('agent.collector_cpu_ratio/1', 0.0004, 'ratio'),
    failures: 0,
    last_error: null,
    ...over,
  }
}

/** Collectors of the mock host: two on, one off. */
export function mockCollectors(): CollectorInfo[] {
  return [
    collector({ name: 'vmstat', granularity: 'host, node', sees: 'kernel counters of memory', cost: 'below 1 ms' }),
    collector({
      name: 'referenced',
      granularity: 'mapping',
      privilege: 'ptrace access',
      sees: 'bytes touched per mapping, not which pages',
      cost: 'about 20 ms per GiB and interval, and 0.6 µs at the next touch of each page',
      capabilities: ['CAP_SYS_PTRACE'],
      failures: 2,
      last_error: 'pid 4711 ended while it was read',
    }),
    collector({
      name: 'pebs',
      active: false,
      reason: 'perf_event_paranoid is 3',
      enable_hint: 'Run the agent as root or grant CAP_PERFMON.',
      granularity: 'page',
      privilege: 'CAP_PERFMON',
      capabilities: ['CAP_PERFMON'],
      cpu_ratio: nothing('agent.collector_cpu_ratio/1', 'ratio', 'not_collected', 'The collector is off.'),
      failures: null,
    }),
  ]
}

/** The agent of the mock host: backed off, and paused for heat. */
export function mockAgent(): AgentInfo {
  return {
    reported_at: iso(mockNow - 20),
    rss_bytes: figure('agent.rss_bytes/1', 6.4 * 1024 ** 2, 'bytes'),
    cpu_ratio: figure('agent.cpu_ratio/1', 0.0031, 'ratio'),
    send_minutes: 5,
    budget_state: 'backed_off',
    budget_reason: 'CPU was above 2 % of a core for 5 minutes',
    heat_rung: 'referenced',
    guard_paused_intervals: figure('agent.guard_paused_intervals/1', 3, 'intervals'),
    samples_taken: figure('agent.samples_taken/1', 0, 'samples'),
    samples_lost: figure('agent.samples_lost/1', 0, 'samples'),
    throttles: nothing('agent.throttles/1', 'times', 'not_collected', 'This release of the agent does not say.'),
    spool_bytes: figure('agent.spool_bytes/1', 12_288, 'bytes'),
    dropped_batches: figure('agent.dropped_batches/1', 0, 'batches'),
    pause: { paused: false, heat_paused: true, everywhere: true, since: iso(mockNow - 3600), actor: 'cli:root' },
  }
}

/** Hardware of the mock host: one CXL device with a narrow link, and a bench of its memory. */
export function mockHardware(): Hardware {
  const measured = { threads: 1, block_bytes: 64, pattern: 'chase', repetitions: 9, disturbed: false }
  return {
    hypervisor: 'none',
    benches: [
      {
        measured_at: iso(mockNow - 86_400),
        cpu_node: 0,
        memory_node: 1,
        method: '1 GiB, 2 MiB pages',
        buffer_bytes: 1024 ** 3,
        huge_page_bytes: 1024 ** 3,
        figures: [
          { ...measured, name: 'idle_latency', unit: 'ns', median: 212.5, p10: 210, p90: 219.75 },
          {
            ...measured,
            name: 'read_bandwidth',
            unit: 'bytes_per_s',
            block_bytes: null,
            pattern: 'sequential',
            threads: 8,
            median: 2.4e10,
            p10: 2.1e10,
            p90: 2.5e10,
            disturbed: true,
          },
        ],
        loaded: [1, 2, 3].map((step) => ({
          bandwidth_bytes_per_s: step * 6e9,
          latency_ns: 212 * step,
          latency_p10_ns: 205 * step,
          latency_p90_ns: 230 * step,
          threads: step,
          write_ratio: 0,
          disturbed: step === 3,
        })),
        skipped: [{ name: 'nt_store_latency', reason: 'the processor has no non-temporal stores' }],
      },
    ],
    cxl_devices: [
      {
        name: 'mem0',
        ram_bytes: 256 * 1024 ** 3,
        numa_node: 1,
        serial: '0x1',
        pci_address: '0000:35:00.0',
        firmware_version: '1.2',
        link_gigatransfers_per_s: 16,
        link_width: 8,
        max_link_gigatransfers_per_s: 32,
        max_link_width: 8,
        degraded: true,
        aer_correctable: 12,
        aer_nonfatal: 0,
        aer_fatal: null,
      },
    ],
    unmovable: [{ node: 0, hugetlb_bytes: 0, mlocked_bytes: 64 * 1024 ** 2, pinned_pages: null }],
  }
}

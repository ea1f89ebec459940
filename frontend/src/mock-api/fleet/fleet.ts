import type { FleetDrift, FleetGrid, FleetOverview, ReclaimableDram } from '../../api/_generated/schema'
import { figure, heatShare, mockWindow, timeAxis, wave, nothing } from '../figures'
import { prices } from '../tco'
import { hosts, noneAway } from './hosts'
import { services } from './services'

const gib = 1024 ** 3
const count = 72

/** All hosts in short rows. */
export function fleetGrid(): FleetGrid {
  return {
    at: mockWindow.end,
    is_now: true,
    known_since: '2026-11-13T03:00:00Z',
    hosts_shown: hosts.length,
    hosts_total: hosts.length,
    hosts_reporting: hosts.filter(({ state }) => state === 'reporting').length,
    away: noneAway,
    simulated: true,
    parts: [],
    label_keys: ['rack', 'sku'],
    hosts: hosts.map((host, index) => ({
      id: host.id,
      name: host.name,
      origin: host.origin,
      state: host.state,
      service: index % 2 === 0 ? 'redis' : 'postgres',
      labels: host.labels,
      kernel: host.kernel,
      memory_bytes: index === 7 ? null : host.memory_bytes.value,
      verdict: host.verdict,
      tiering_off: host.tiering_off,
      finding_severity: index === 5 ? 'warning' : null,
      psi_memory_some_ratio: host.psi_memory_some_ratio.value,
      cold_ratio: index === 3 ? null : 0.2 + index * 0.03,
    })),
  }
}

/** How far hosts are from their peers: the first one is far, the second has no peers. */
export function fleetDrift(): FleetDrift {
  return {
    window: { start: '2026-11-21T01:00:00Z', end: '2026-11-21T02:00:00Z' },
    limit: 3.5,
    hosts: hosts
      .filter((_, index) => index !== 1)
      .map((host, index) => ({
        host_id: host.id,
        service_id: 'svc-redis',
        service: 'redis',
        metric: 'promoted_pages_per_s',
        label: 'Promoted',
        unit: 'pages_per_s',
        value: index === 0 ? 900 : 100 + index,
        median: 105,
        score: index === 0 ? -9.4 : index * 0.1,
        n_hosts: 17,
      })),
    missing: null,
  }
}

/** DRAM with cold memory; without a price there is no cost. */
export function reclaimable(): ReclaimableDram {
  const price = prices.find(({ item, in_force }) => item === 'dram' && in_force) ?? prices[0]
  if (price === undefined) throw new Error('the price book is empty')
  return {
    cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', 3.4 * 1024 * gib, 'bytes', {
      interval: { lo: 3.1 * 1024 * gib, hi: 3.7 * 1024 * gib, level: 0.95, kind: 'confidence' },
    }),
    known_heat_ratio: figure('fleet.known_heat_ratio/1', 0.91, 'ratio', { n_hosts: 18 }),
    annual_cost: {
      value: 7660,
      interval: { lo: 5710, hi: 10600, level: null, kind: 'range' },
      currency: 'USD',
      life_years: 5,
      price,
    },
    reason: null,
  }
}

/** The fleet as the API answers it. */
export function fleet(): FleetOverview {
  const rate = (key: string, label: string, level: number, phase: number) => ({
    key,
    label,
    unit: 'pages_per_s',
    values: wave(count, level, level / 2, phase),
  })
  return {
    headline: '47 % of 5.9 TiB is cold; 61.3 GiB of hot memory lies outside DRAM, and 1 host needs attention.',
    window: mockWindow,
    moves_missing: null,
    simulated: true,
    hosts_reporting: 16,
    hosts_late: 1,
    hosts_silent: 1,
    hosts_total: 18,
    away: noneAway,
    hosts_tiering_off: 2,
    memory_bytes: figure('fleet.memory_bytes/1', 12.4 * 1024 * gib, 'bytes', { n_hosts: 18 }),
    hot_ratio: heatShare('heat.hot_ratio/1', 0.27),
    warm_ratio: heatShare('heat.warm_ratio/1', 0.26),
    cold_ratio: heatShare('heat.cold_ratio/1', 0.47, { grade: 'partial' }),
    hot_host_median: heatShare('heat.hot_ratio/1', 0.31),
    warm_host_median: heatShare('heat.warm_ratio/1', 0.25),
    cold_host_median: heatShare('heat.cold_ratio/1', 0.44),
    hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', 61.3 * gib, 'bytes', { grade: 'partial' }),
    cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', null, 'bytes', {
      status: 'not_collected',
      reason: 'No host says on which tier its pages are.',
      grade: null,
    }),
    promotion_pages_per_s: figure('tier_moves.promoted_pages_per_s/1', 2310, 'pages_per_s', { n_hosts: 14 }),
    demotion_pages_per_s: figure('tier_moves.demoted_pages_per_s/1', 2544, 'pages_per_s', { n_hosts: 14 }),
    psi_memory_some_ratio: figure('psi.memory_some_ratio/1', 0.0071, 'ratio', { n_hosts: 18 }),
    tier_flow: {
      promotion_bytes_per_s: figure('tier_moves.promoted_bytes_per_s/1', 2310 * 4096, 'bytes_per_s', { n_hosts: 14 }),
      demotion_bytes_per_s: figure('tier_moves.demoted_bytes_per_s/1', 2544 * 4096, 'bytes_per_s', { n_hosts: 14 }),
      swap_in_bytes_per_s: figure('swap.in_bytes_per_s/1', 21 * 4096, 'bytes_per_s', { n_hosts: 16 }),
      swap_out_bytes_per_s: figure('swap.out_bytes_per_s/1', 380 * 4096, 'bytes_per_s', { n_hosts: 16 }),
      damon_promotion_bytes_per_s: nothing(
        'tier_moves.damon_promoted_bytes_per_s/1',
        'bytes_per_s',
        'not_supported',
        'No scheme of DAMON does this.',
      ),
      damon_demotion_bytes_per_s: figure('tier_moves.damon_demoted_bytes_per_s/1', 1.5e6, 'bytes_per_s', {
        n_hosts: 2,
      }),
    },
    services,
    hosts_in_need: 6,
    hosts_critical: 2,
    causes: [
      {
        kind: 'verdict',
        key: 'futile_ping_pong',
        severity: 'critical',
        cause: null,
        fix: null,
        n_hosts: 1,
        hosts: [{ id: 'h-1', name: 'rack1-node01' }],
      },
      {
        kind: 'state',
        key: 'silent',
        severity: 'critical',
        cause: null,
        fix: null,
        n_hosts: 1,
        hosts: [{ id: 'h-10', name: 'rack1-node10' }],
      },
      {
        kind: 'finding',
        key: 'clock-skew',
        severity: 'warning',
        cause: 'The clock is 3 s ahead.',
        fix: 'Start chrony.',
        n_hosts: 4,
        hosts: hosts.slice(0, 4).map(({ id, name }) => ({ id, name })),
      },
    ],
    matrix_axis: timeAxis(count, 300),
    matrix: services.map((service, index) => ({
      service_id: service.id,
      label: service.name,
      cold_ratio:
        service.cold_ratio.value === null
          ? Array.from({ length: count }, () => null)
          : wave(count, service.cold_ratio.value, 0.12, index).map((value) =>
              value === null ? null : Math.min(1, value),
            ),
    })),
    moves_axis: timeAxis(count, 300),
    moves: [rate('promoted', 'Promoted', 2310, 0), rate('demoted', 'Demoted', 2544, 1)],
    psi: [{ key: 'memory_some', label: 'memory, some', unit: 'ratio', values: wave(count, 0.0071, 0.006, 2) }],
  }
}

import type { FleetOverview } from '../../api/_generated/schema'
import { figure, heatShare, mockWindow, timeAxis, wave } from '../figures'
import { hosts } from './hosts'
import { services } from './services'

const gib = 1024 ** 3
const count = 72

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
    simulated: true,
    hosts_reporting: 16,
    hosts_late: 1,
    hosts_silent: 1,
    hosts_total: 18,
    hosts_tiering_off: 2,
    memory_bytes: figure('fleet.memory_bytes/1', 12.4 * 1024 * gib, 'bytes', { n_hosts: 18 }),
    hot_ratio: heatShare('heat.hot_ratio/1', 0.27),
    warm_ratio: heatShare('heat.warm_ratio/1', 0.26),
    cold_ratio: heatShare('heat.cold_ratio/1', 0.47, { grade: 'partial' }),
    hot_host_median: heatShare('heat.hot_host_median_ratio/1', 0.31),
    warm_host_median: heatShare('heat.warm_host_median_ratio/1', 0.25),
    cold_host_median: heatShare('heat.cold_host_median_ratio/1', 0.44),
    hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', 61.3 * gib, 'bytes', { grade: 'partial' }),
    cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', null, 'bytes', {
      status: 'not_collected',
      reason: 'No host says on which tier its pages are.',
      grade: null,
    }),
    promotion_pages_per_s: figure('tier_moves.promoted_pages_per_s/1', 2310, 'pages_per_s', { n_hosts: 14 }),
    demotion_pages_per_s: figure('tier_moves.demoted_pages_per_s/1', 2544, 'pages_per_s', { n_hosts: 14 }),
    psi_memory_some_ratio: figure('psi.memory_some_ratio/1', 0.0071, 'ratio', { n_hosts: 18 }),
    services,
    worst_hosts: hosts.filter((host) => host.findings.length > 0),
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

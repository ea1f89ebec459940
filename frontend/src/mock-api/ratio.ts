import type { Ratio, RatioCandidate, SlowdownPointItem } from '../api/_generated/schema'
import { figure, heatShare, mockNow, mockWindow, nothing } from './figures'

const gib = 1024 ** 3

function candidate(name: string, dram: number, slow: number, median: number, upper: number): RatioCandidate {
  const kept = upper <= 0.05
  return {
    name,
    dram_ratio: dram,
    dram_bytes: dram * 768 * gib,
    slow_bytes: (1 - dram) * 768 * gib,
    share_on_slow: heatShare('ratio.share_on_slow/1', slow),
    share_on_slow_best_static: heatShare('ratio.share_on_slow/1', slow * 0.7),
    loss_median: heatShare('ratio.loss_median/1', median),
    loss_upper: heatShare('ratio.loss_upper/1', upper, { interval: null }),
    holds_hot: true,
    bandwidth_ok: null,
    kept,
    why_not: kept ? [] : [`the loss may reach ${Math.round(upper * 100)} %, above the target`],
  }
}

const candidates = [
  candidate('8:1', 8 / 9, 0.005, 0.000088, 0.000401),
  candidate('4:1', 4 / 5, 0.015, 0.000459, 0.002081),
  candidate('2:1', 2 / 3, 0.04, 0.001996, 0.009001),
  candidate('1:1', 1 / 2, 0.1, 0.007844, 0.03466),
  candidate('1:2', 1 / 3, 0.25, 0.030303, 0.124284),
  candidate('1:4', 1 / 5, 0.5, 0.08121, 0.286437),
]

const sweepShares = Array.from({ length: 81 }, (_, index) => 0.15 + index / 100)
const onSlow = (share: number) => (1 - share) ** 3.2

/** Ratio advice as the API answers it; the second service's is refused. */
export function ratio(serviceId: string, target: number): Ratio {
  const refused = serviceId !== 'svc-redis'
  const chosen = candidates.findLast((found) => (found.loss_upper.value ?? 1) <= target) ?? null
  return {
    service_id: serviceId,
    origin: 'simulated',
    window: mockWindow,
    sentence: refused
      ? 'No ratio is advised: less than a full week was measured.'
      : `At ${chosen?.name ?? 'all DRAM'} the loss is at most ${((chosen?.loss_upper.value ?? 0) * 100).toFixed(1)} % (95 %).`,
    service_class: {
      name: refused ? null : 'latency',
      why: 'DRAM bandwidth is below half of what the tier can deliver.',
      microsecond_service: null,
      figures: [
        { metric: 'dram_utilisation_ratio', figure: heatShare('ratio.dram_utilisation_ratio/1', 0.22) },
        {
          metric: 'latency_p99_ns',
          figure: nothing('service.latency_p99_ns/1', 'ns', 'not_collected', 'Map it under `[[service_metrics]]`.'),
        },
      ],
    },
    loss_target: target,
    stressed: false,
    growth: 0,
    headroom_ratio: 0.02,
    placement: refused
      ? null
      : {
          source: 'simulated:tpp',
          why: 'sampled pages replayed under TPP; 3 of 3 hosts run it: numa_balancing is 2 and demotion is on',
          made_at: mockWindow.end,
          n_hosts: 3,
          beside: 'best_static',
          chosen_beside: '1:1',
        },
    answer: refused ? 'refused' : chosen === null ? 'all_dram' : 'ratio',
    refused: refused
      ? [
          'less than a full week was measured: 6 h of 168 h',
          'the latency of slow memory was not measured: run `tierscope-agent bench`',
        ]
      : [],
    chosen: refused ? null : chosen,
    candidates: refused ? [] : candidates,
    sweep: refused
      ? null
      : {
          dram_ratio: sweepShares,
          share_on_slow: sweepShares.map(onSlow),
          loss_median: sweepShares.map((share) => 0.2 * onSlow(share) ** 1.5),
          loss_upper: sweepShares.map((share) => 0.9 * onSlow(share) ** 1.5),
        },
    posterior: refused
      ? null
      : {
          mean_ln_a: -2.036059,
          variance: 0.08135,
          exponent: 1.5,
          rho: 1.9,
          at_share: 0.1,
          level: 0.95,
          points_used: 1,
          formula: 'loss / (1 - loss) = a * h^1.5, with h the share of accesses on slow memory',
        },
    points: [{ ...point, used: true, why_not: null }],
    evidence: [
      { metric: 'required_bytes', figure: figure('ratio.required_bytes/1', 768 * gib, 'bytes') },
      { metric: 'hot_bytes', figure: figure('ratio.hot_bytes/1', 210 * gib, 'bytes') },
      {
        metric: 'hot_set_jaccard',
        figure: nothing('ratio.hot_set_jaccard/1', 'ratio', 'not_enough_data', 'One moment is not enough.'),
      },
    ],
    assumptions: [
      { name: 'prior_a', value: 0.25, unit: '1', grounding: 'S 13 pairs', why: 'Published slowdowns of services.' },
      { name: 'rho', value: 1.9, unit: '1', grounding: 'A', why: 'No bench figures: run `tierscope-agent bench`.' },
      { name: 'placement', value: 'default to good', unit: '', grounding: 'A', why: 'The kernel promotes.' },
    ],
    sensitivity: [
      { name: 'rho', low: 1.5, high: 2.5, chosen_low: '1:1', chosen_high: '2:1' },
      { name: 'exponent', low: 1, high: 2, chosen_low: null, chosen_high: '1:1' },
    ],
    leading: {
      hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', 41.2 * gib, 'bytes'),
      cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', 388 * gib, 'bytes'),
    },
    subtracted: [
      { what: 'hugetlb_bytes', bytes: 2 * gib, why: 'Reserved huge pages do not move.' },
      { what: 'pinned_bytes', bytes: null, why: 'This kernel does not count them.' },
    ],
    interleave: null,
    alternatives: refused ? [] : ['4:1', '8:1'],
    expires_at: refused ? null : new Date((mockNow + 14 * 86400) * 1000).toISOString(),
    notes: ['Bytes are those of one host, the median one.'],
  }
}

const point: SlowdownPointItem & { id: string } = {
  id: 'p-1',
  service_id: 'svc-redis',
  source: 'ab_test',
  share_on_slow: 0.25,
  loss: 0.015,
  loss_standard_error: 0.0044,
  measured_at: new Date((mockNow - 86400) * 1000).toISOString(),
  author: 'owner',
  note: 'two racks, <b>one day</b>',
}

/** The owner's measurements. */
export function slowdownPoints(serviceId: string): SlowdownPointItem[] {
  return serviceId === 'svc-redis' ? [point] : []
}

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

function end(name: string | null): [string | null, number] {
  return [name, candidates.find((found) => found.name === name)?.dram_ratio ?? 1]
}

function rangeOf(target: number, likely: string, plausible: string): NonNullable<Ratio['range']> {
  const [safe, safeShare] = end(candidates.findLast((found) => (found.loss_upper.value ?? 1) <= target)?.name ?? null)
  const [[, likelyShare], [, plausibleShare]] = [end(likely), end(plausible)]
  return {
    safe,
    likely,
    plausible,
    safe_dram_ratio: safeShare,
    likely_dram_ratio: likelyShare,
    plausible_dram_ratio: plausibleShare,
  }
}

/** The parts of the DRAM of a ratio: 400 GiB hot, some of it to be on slow memory, the moving set not measured. */
export function ratioParts(name: string, share: number): NonNullable<Ratio['parts']> {
  const dram = share * 768 * gib
  const part = (
    of: NonNullable<Ratio['parts']>['parts'][number]['name'],
    bytes: number | null,
    spread: number | null,
  ) => ({
    name: of,
    bytes,
    lo_bytes: bytes === null || spread === null ? null : bytes - spread,
    hi_bytes: bytes === null || spread === null ? null : bytes + spread,
    why: `source of ${of}`,
  })
  const headroom = 0.02 * dram
  return {
    name,
    dram_ratio: share,
    dram_bytes: dram,
    lo_bytes: dram / 2,
    hi_bytes: dram * 1.5,
    lo_name: '1:2',
    hi_name: 'all DRAM',
    parts: [
      part('hot', 400 * gib, 20 * gib),
      part('moving', null, null),
      part('loss_target', dram - headroom - 410 * gib, 50 * gib),
      part('sold_ratio', 10 * gib, null),
      part('headroom', headroom, null),
      part('growth', 0, null),
    ],
    days: 6,
    days_needed: 7,
    established_at: '2026-11-28T17:00:00Z',
  }
}

/** Ratio advice as the API answers it: one service's is a ratio, another's an early range, all others' are refused. */
export function ratio(serviceId: string, target: number): Ratio {
  const early = serviceId === 'svc-feed'
  const refused = !early && serviceId !== 'svc-redis'
  const chosen = candidates.findLast((found) => (found.loss_upper.value ?? 1) <= target) ?? null
  return {
    service_id: serviceId,
    origin: 'simulated',
    window: mockWindow,
    sentence: refused
      ? 'No ratio can be given: 12 sampled accesses: 1000 are needed.'
      : early
        ? 'Between all DRAM and 1:2, most likely 2:1: all DRAM keeps the loss at or below 5 %, 1:2 may.'
        : `At ${chosen?.name ?? 'all DRAM'} the loss is at most ${((chosen?.loss_upper.value ?? 0) * 100).toFixed(1)} % (95 %).`,
    service_class: {
      name: refused ? null : 'latency',
      grade: refused ? null : 'good',
      why: 'DRAM runs at 22% of its measured bandwidth at the 95th percentile (uncore).',
      microsecond_service: null,
      figures: [
        { metric: 'dram_utilisation', figure: heatShare('ratio.dram_utilisation_ratio/2', 0.22) },
        {
          metric: 'latency_p99_ns',
          figure: nothing('service.latency_p99_ns/1', 'ns', 'not_collected', 'Map it under `[[service_metrics]]`.'),
        },
      ],
    },
    loss_target: target,
    hold_hot: false,
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
          policy: 'TPP',
          policy_from: 'configured',
        },
    answer: refused ? 'refused' : early ? 'range' : chosen === null ? 'all_dram' : 'ratio',
    grade: refused ? null : early ? 'early' : 'established',
    scope: refused
      ? ''
      : early
        ? '40 minutes of page samples from 1 host: for this host, says nothing of other hours, nights and weekends'
        : '8.0 days of page samples from 3 hosts',
    refused: refused ? ['12 sampled accesses: 1000 are needed.'] : [],
    range: refused ? null : early ? { ...rangeOf(0, '2:1', '1:2') } : rangeOf(target, '1:1', '1:2'),
    parts: refused
      ? null
      : early
        ? ratioParts('2:1', 2 / 3)
        : chosen === null
          ? null
          : ratioParts(chosen.name, chosen.dram_ratio),
    binding: refused ? [] : ['loss'],
    uncertainty: refused
      ? []
      : [
          { source: 'slowdown', variance_ratio: 0.82, why: 'how much a service loses' },
          { source: 'share_on_slow', variance_ratio: 0.18, why: 'the share of accesses on slow memory' },
        ],
    next_steps: refused ? [sampling] : early ? steps : [],
    kinds: refused ? [] : early ? kinds : kinds.slice(0, 1),
    chosen: refused || early ? null : chosen,
    candidates: refused
      ? []
      : early
        ? candidates.map((found) => ({ ...found, kept: false, why_not: ['a loss of up to 30 % cannot be ruled out'] }))
        : candidates,
    sweep: refused
      ? null
      : {
          dram_ratio: sweepShares,
          share_on_slow: sweepShares.map(onSlow),
          loss_lower: sweepShares.map((share) => 0.02 * onSlow(share) ** 1.5),
          loss_median: sweepShares.map((share) => 0.2 * onSlow(share) ** 1.5),
          loss_upper: sweepShares.map((share) => 0.9 * onSlow(share) ** 1.5),
        },
    posterior: refused
      ? null
      : {
          mean_ln_a: -2.036059,
          variance: 0.08135,
          exponent: 1.2,
          linear_weight: 0.6,
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

const sampling: Ratio['next_steps'][number] = {
  what: 'page_samples',
  text: 'Sample pages: list the service under `[heat]` in the agent’s settings.',
  command: 'sudoedit /etc/tierscope/agent.toml && sudo systemctl restart tierscope-agent',
  by: null,
  raises_to: 'early',
  narrows: null,
}

const steps: Ratio['next_steps'] = [
  {
    what: 'ab_test',
    text: 'Measure the loss to a standard error of 0.5 %: an A/B test with 10 % to 30 % of accesses on slow memory.',
    command: 'tierscope experiments plan --service svc-feed --metric throughput_per_s --effect 0.02',
    by: null,
    raises_to: null,
    narrows: { plausible_dram_ratio: 0.4, safe_dram_ratio: 0.6, narrowed_ratio: 0.7 },
  },
  {
    what: 'time',
    text: 'Keep sampling for a whole day.',
    command: null,
    by: new Date((mockNow + 86400) * 1000).toISOString(),
    raises_to: 'provisional',
    narrows: { plausible_dram_ratio: 0.2, safe_dram_ratio: 0.8, narrowed_ratio: 0 },
  },
]

const kinds: Ratio['kinds'] = [
  {
    cpu_model: 'Xeon 6',
    dram_bytes: 512 * gib,
    slow_bytes: 256 * gib,
    n_hosts: 8,
    headline: true,
    answer: 'range',
    grade: 'early',
    sentence: 'Between all DRAM and 1:2, most likely 2:1.',
    chosen: null,
    range: rangeOf(0, '2:1', '1:2'),
  },
  {
    cpu_model: null,
    dram_bytes: 1024 * gib,
    slow_bytes: null,
    n_hosts: 2,
    headline: false,
    answer: 'refused',
    grade: null,
    sentence: 'No ratio can be given: no page samples.',
    chosen: null,
    range: null,
  },
]

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

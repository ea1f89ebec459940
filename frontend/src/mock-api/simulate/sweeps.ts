import type { Sweep, SweepCell, SweepHeat, SweepResults, SweepRun, SweepSwap } from '../../api/_generated/schema'
import { figure, mockNow, mockWindow, nothing } from '../figures'
import { simulatorPolicies } from './simulator'

const iso = (hours: number) => new Date((mockNow + hours * 3600) * 1000).toISOString()

const noSource = {
  service_id: null,
  host_id: null,
  workload: null,
  pages: null,
  intervals: null,
  upload_id: null,
  window: null,
}

const done: Sweep = {
  id: 'sweep-1',
  name: 'Redis before buying',
  source: { ...noSource, kind: 'service', name: 'prod/redis', service_id: 'svc-redis', window: mockWindow },
  policies: ['first_touch', 'tpp'],
  dram_ratios: [2 / 3, 0.5, 0.2],
  settings: {},
  search: { demote_scale_factor: [100, 200, 400] },
  seed: null,
  cpu_seconds: null,
  cost: { slow_price_ratio: 0.5, swap_price_ratio: 0.03 },
  status: 'done',
  tasks: [
    { policy: 'first_touch', label: 'Default Linux (first touch)', status: 'done', done: 3, total: 3, error: null },
    { policy: 'tpp', label: 'TPP', status: 'done', done: 9, total: 9, error: null },
  ],
  done: 12,
  total: 12,
  progress_ratio: 1,
  created_by: 'ana',
  created_at: iso(-1),
  started_at: iso(-1),
  finished_at: iso(-0.9),
  origin: 'simulated',
}

/** Sweeps of the mock service: one that is done, one that runs. */
export const sweeps: Sweep[] = [
  done,
  {
    ...done,
    id: 'sweep-2',
    name: 'Web1, all policies',
    source: { ...noSource, kind: 'workload', name: 'Web1', workload: 'web1', pages: 50_000, intervals: 60 },
    search: {},
    status: 'running',
    tasks: [
      {
        policy: 'first_touch',
        label: 'Default Linux (first touch)',
        status: 'running',
        done: 1,
        total: 3,
        error: null,
      },
      {
        policy: 'tpp',
        label: 'TPP',
        status: 'failed',
        done: 0,
        total: 3,
        error: 'row 17: the page number is negative',
      },
    ],
    done: 1,
    total: 6,
    progress_ratio: 1 / 6,
    finished_at: null,
  },
]

/** One sweep; undefined for an id that is none. */
export function sweep(id: string): Sweep | undefined {
  return sweeps.find((found) => found.id === id)
}

/** A block SSD under a run's own traffic; the mock has one for every policy that swaps. */
function swapOf(): SweepSwap {
  const made = (name: string, value: number, unit: string) =>
    figure(`simulator.swap_${name}/1`, value, unit, { method: 'simulated', n_hosts: null, coverage: null })
  return {
    device: 'block_trim_coarse',
    label: 'Block SSD, TRIM of 512 slots (Linux)',
    used_ratio: made('used_ratio', 0.42, 'ratio'),
    write_amplification: made('write_amplification', 1.59, 'times'),
    swap_out_bytes_per_s: made('out_bytes_per_s', 41_000, 'bytes_per_s'),
    swap_in_bytes_per_s: made('in_bytes_per_s', 38_000, 'bytes_per_s'),
    swap_in_p99_us: made('in_p99_us', 610, 'us'),
    flash_writes_per_day: made('flash_writes_per_day', 2.1, 'per_day'),
    drive_life_years: made('drive_life_years', 2.4, 'years'),
    keeps_up_ratio: made('keeps_up_ratio', 1, 'ratio'),
  }
}

function cell(policy: string, ratio: number, loss: number | null, over: Partial<SweepCell> = {}): SweepCell {
  const simulated = (definition: string, value: number | null, unit: string) =>
    value === null
      ? nothing(definition, unit, 'not_enough_data', 'The CPU time of the service is not known.')
      : figure(definition, value, unit, { method: 'simulated', n_hosts: null, coverage: null })
  const label = simulatorPolicies.policies.find(({ name }) => name === policy)?.label ?? policy
  return {
    run_id: `${policy}-${ratio.toFixed(2)}`,
    policy,
    label,
    dram_ratio: ratio,
    settings: {},
    local_ratio: simulated('simulate.local_ratio/1', 1 - 2 * (loss ?? 0.1), 'ratio'),
    loss: {
      ...simulated('simulate.loss/1', loss, 'ratio'),
      interval: loss === null ? null : { lo: loss / 2, hi: loss * 1.5, level: 0.95, kind: 'confidence' },
    },
    promoted_pages_per_s: simulated('simulate.promoted_pages_per_s/1', policy === 'tpp' ? 120 : 0, 'pages_per_s'),
    demoted_pages_per_s: simulated('simulate.demoted_pages_per_s/1', policy === 'tpp' ? 120 : 0, 'pages_per_s'),
    tier_move_mb_per_s: simulated('simulate.tier_move_mb_per_s/1', policy === 'tpp' ? 0.98 : 0, 'mb_per_s'),
    ping_pong_ratio: simulated('simulate.ping_pong_ratio/1', 0.04, 'ratio'),
    major_faults_per_s: simulated('simulate.major_faults_per_s/1', 0, 'events_per_s'),
    cost_ratio: ratio + (1 - ratio) / 2,
    error: null,
    swap: policy.startsWith('swap') ? swapOf() : null,
    ...over,
  }
}

const searched = [100, 200, 400].map((factor, index) =>
  cell('tpp', 0.5, 0.006 + 0.001 * Math.abs(index - 1), {
    run_id: `tpp-search-${factor}`,
    settings: { demote_scale_factor: factor },
  }),
)

/** What has been simulated: everything of the first sweep, one cell of the second. */
export function sweepResults(id: string): SweepResults {
  const cells =
    id === 'sweep-1'
      ? [
          cell('first_touch', 2 / 3, 0.02),
          cell('first_touch', 0.5, 0.05),
          cell('first_touch', 0.2, 0.12),
          cell('tpp', 2 / 3, 0),
          cell('tpp', 0.5, 0.006),
          cell('tpp', 0.2, null),
        ]
      : [cell('first_touch', 2 / 3, 0.02)]
  const frontier = cells
    .filter(({ run_id }) => run_id === 'tpp-0.67' || run_id === 'tpp-0.50')
    .map(({ run_id, policy, dram_ratio, cost_ratio, loss }) => ({
      run_id,
      policy,
      dram_ratio,
      cost_ratio: cost_ratio ?? 0,
      loss: loss.value ?? 0,
    }))
  return {
    sweep_id: id,
    origin: 'simulated',
    n_hosts: 2,
    window: mockWindow,
    peak_bytes: 4 * 1024 ** 3,
    pages: 1 << 20,
    intervals: 60,
    interval_seconds: 60,
    sampled_ratio: 0.0625,
    cells,
    oracle: [
      { dram_ratio: 2 / 3, local_ratio: 0.99 },
      { dram_ratio: 0.5, local_ratio: 0.97 },
    ],
    frontier,
    searches:
      id === 'sweep-1'
        ? [
            {
              policy: 'tpp',
              label: 'TPP',
              dram_ratio: 0.5,
              keys: ['demote_scale_factor'],
              points: searched.map(({ run_id, settings, loss }) => ({
                run_id,
                settings,
                loss: loss.value,
                tier_move_mb_per_s: 1,
              })),
              best: { settings: { demote_scale_factor: 200 }, loss: 0.006, run_id: 'tpp-search-200' },
              flatness: {
                within_ratio: 0.05,
                n_within: 1,
                n: 3,
                spans: { demote_scale_factor: [200, 200] },
                at_edge: [],
              },
            },
          ]
        : [],
    notes: ['Simulated from a page sample; counts are scaled up by its rate.'],
  }
}

/** One run over six intervals; swap is not written to. */
export function sweepRun(runId: string): SweepRun {
  const cells = [...sweepResults('sweep-1').cells, ...searched]
  const found = cells.find(({ run_id }) => run_id === runId) ?? cell('tpp', 0.5, 0.006)
  const interval = [0, 1, 2, 3, 4, 5]
  return {
    ...found,
    sweep_id: 'sweep-1',
    origin: 'simulated',
    searched: runId.startsWith('tpp-search'),
    totals: { promoted_pages: 600, demoted_pages: 500 },
    local_ratio_by_kind: { anon: 0.93, file: 0.66, tmpfs: null },
    stall_seconds: { slow_accesses: 1.2, faults: 0, hint_faults: 0.1, tier_moves: 0.2, total: 1.5 },
    series: {
      interval,
      local_ratio: [0.8, 0.85, null, 0.9, 0.92, 0.93],
      local_ratio_by_kind: {
        anon: [0.9, 0.9, null, 0.95, 0.95, 0.95],
        file: [0.5, 0.6, null, 0.7, 0.7, 0.7],
        tmpfs: interval.map(() => null),
      },
      promoted_pages: [0, 200, 200, 100, 50, 50],
      demoted_pages: [0, 100, 200, 100, 50, 50],
      ping_pong_pages: [0, 0, 20, 10, 0, 0],
      dram_free_bytes: interval.map((index) => (10 - index) * 1024 ** 2),
      swap_written_bytes: interval.map(() => 0),
      failed_promotion_pages: interval.map(() => 0),
      tier_move_mb_per_s: [0, 0.02, 0.03, 0.01, 0.01, 0.01],
    },
  }
}

/** The heat of the trace: two bands, one of which is not touched at first. */
export function sweepHeat(): SweepHeat {
  return {
    sweep_id: 'sweep-1',
    origin: 'simulated',
    host_name: 'host-h-1',
    reason: null,
    rows: [
      { label: 'pages 0 to 99', kind: 'anon', pages: 100 },
      { label: 'pages 100 to 199', kind: 'file', pages: 100 },
    ],
    interval: [0, 1, 2, 3, 4, 5],
    accesses: [
      [10, 10.5, 11, 11, 10, 9],
      [null, null, 4, 5, 3, 2],
    ],
    log2: true,
  }
}

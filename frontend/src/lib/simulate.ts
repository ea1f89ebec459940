import { threeDigits } from './units/units'

/** A DRAM:CXL ratio by its usual name, and the share of memory that is DRAM. */
export interface RatioPreset {
  name: string
  dramRatio: number
}

const pairs: [number, number][] = [
  [8, 1],
  [4, 1],
  [2, 1],
  [1, 1],
  [1, 2],
  [1, 4],
]

/** The ratios that hardware is built in, the most DRAM first. */
export const ratioPresets: RatioPreset[] = pairs.map(([dram, slow]) => ({
  name: `${dram}:${slow}`,
  dramRatio: dram / (dram + slow),
}))

/** A DRAM share as the ratio that it is the share of: `2:1`; other shares are given in per cent. */
export function ratioName(dramRatio: number): string {
  if (Math.abs(dramRatio - 1) < 1e-6) return 'all DRAM'
  const preset = ratioPresets.find((candidate) => Math.abs(candidate.dramRatio - dramRatio) < 0.002)
  return preset?.name ?? `${threeDigits(dramRatio * 100)} %`
}

/** What the grid of a sweep can show. */
export const gridMetrics = ['loss', 'local', 'moves', 'pingpong'] as const
export type GridMetric = (typeof gridMetrics)[number]

interface MetricText {
  label: string
  /** What the numbers of the grid are, with their unit. */
  axis: string
  /** The legend's ends. */
  low: string
  high: string
}

const metricTexts: Record<GridMetric, MetricText> = {
  loss: { label: 'Loss', axis: 'estimated loss of throughput, %', low: 'none', high: 'most' },
  local: { label: 'Local share', axis: 'accesses served by DRAM, %', low: 'least', high: 'most' },
  moves: { label: 'Tier moves', axis: 'tier moves, MB/s', low: 'none', high: 'most' },
  pingpong: {
    label: 'Ping-pong',
    axis: 'promotions soon demoted again, % of promotions',
    low: 'none',
    high: 'most',
  },
}

/** What a metric of the grid is called, and what its numbers mean. */
export function gridMetricText(metric: GridMetric): MetricText {
  return metricTexts[metric]
}

type SweepStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

interface StatusText {
  label: string
  meaning: string
  tone: 'good' | 'info' | 'warning' | 'critical' | 'neutral'
}

const statuses: Record<SweepStatus, StatusText> = {
  queued: { label: 'queued', meaning: 'Waiting for a free worker.', tone: 'neutral' },
  running: { label: 'running', meaning: 'Policies are being simulated.', tone: 'info' },
  done: { label: 'done', meaning: 'All runs are stored.', tone: 'good' },
  failed: {
    label: 'failed',
    meaning: 'At least one policy could not be simulated; the reason is shown beside it.',
    tone: 'critical',
  },
  cancelled: { label: 'cancelled', meaning: 'Finished runs are kept. Resume to continue.', tone: 'warning' },
}

/** Where a sweep or one of its policies stands, in words. */
export function sweepStatus(status: SweepStatus): StatusText {
  return statuses[status]
}

/** Settings as they are written on the command line: `--set hot_threshold_ms=500`. */
export function settingsText(settings: Record<string, number>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')
}

/** The command that repeats a run on a trace file. `settings` are those that differ from the defaults. */
export function runCommand(
  policy: string,
  dramRatio: number,
  settings: Record<string, number>,
  seed: number | null,
): string {
  const sets = Object.entries(settings).map(([key, value]) => ` --set ${key}=${value}`)
  const share = Number(dramRatio.toPrecision(6))
  return `tierscope simulate TRACE.parquet --policy ${policy} --dram-share ${share}${sets.join('')}${seed === null ? '' : ` --seed ${seed}`} --json`
}

/** Why a run's local share has no interval and its moves are not claimed, by their warnings; null where both are. */
export function unclaimedText(
  run: Record<'local_ratio' | 'promoted_pages_per_s', { warnings: string[] }>,
): string | null {
  const reasons = [...run.local_ratio.warnings, ...run.promoted_pages_per_s.warnings].filter((warning) =>
    /^(No interval|Moves are not claimed):/.test(warning),
  )
  return reasons.length === 0 ? null : reasons.join(' ')
}

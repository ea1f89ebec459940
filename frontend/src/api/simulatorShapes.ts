import type { Figure } from './_generated/schema'

/** A number that a policy, the machine or the cost model has. Switches are 0 and 1. */
export interface SimulatorSetting {
  name: string
  default: number
  lowest: number
  highest: number
  unit: string
  source: string
}

export interface SimulatorPolicy {
  name: string
  label: string
  has_slow_tier: boolean
  settings: SimulatorSetting[]
}

export interface SimulatorPolicies {
  policies: SimulatorPolicy[]
  machine_settings: SimulatorSetting[]
  cost_settings: SimulatorSetting[]
}

export interface TraceUpload {
  id: string
  name: string
  bytes: number
  pages: number
  intervals: number
  accesses: number
  created_at: string
}

export interface SampledHost {
  host_id: string
  name: string
  n_pages: number
  n_intervals: number
  sampled_ratio: number
  from: string
  to: string
}

export interface SimulatorSources {
  services: { service_id: string; name: string; origin: string; hosts: SampledHost[] }[]
  workloads: { name: string; label: string; source: string; simulated: true }[]
  uploads: TraceUpload[]
}

export interface SweepSource {
  kind: 'service' | 'workload' | 'upload'
  service_id?: string | null
  host_id?: string | null
  workload?: string | null
  upload_id?: string | null
  from?: string | null
  to?: string | null
}

export interface SweepRequest {
  name: string
  source: SweepSource
  policies: string[]
  dram_ratios: number[]
  settings: Record<string, number>
  search: Record<string, number[]>
  seed: number
  cpu_seconds?: number | null
  cost: { slow_price_ratio: number }
}

export interface SweepTask {
  policy: string
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled'
  done: number
  total: number
  error: string | null
}

export interface Sweep {
  id: string
  name: string
  source: SweepSource
  policies: string[]
  dram_ratios: number[]
  settings: Record<string, number>
  search: Record<string, number[]>
  seed: number
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled'
  tasks: SweepTask[]
  done: number
  total: number
  progress_ratio: number
  created_by: string | null
  created_at: string
  started_at: string | null
  finished_at: string | null
  origin: 'simulated'
}

export interface SweepCell {
  run_id: string
  policy: string
  label: string
  dram_ratio: number
  settings: Record<string, number>
  local_ratio: Figure
  loss: Figure
  promoted_pages_per_s: Figure
  demoted_pages_per_s: Figure
  tier_move_mb_per_s: Figure
  ping_pong_ratio: Figure
  major_faults_per_s: Figure
  cost_ratio: number | null
  error: string | null
}

export interface KnobSearch {
  policy: string
  dram_ratio: number
  keys: string[]
  points: { run_id: string; settings: Record<string, number>; loss: number | null; tier_move_mb_per_s: number | null }[]
  best: { settings: Record<string, number>; loss: number; run_id: string } | null
  flatness: { within_ratio: number; n_within: number; n: number; spans: Record<string, [number, number]> } | null
}

export interface SweepResults {
  sweep_id: string
  peak_bytes: number
  pages: number
  intervals: number
  interval_seconds: number
  sampled_ratio: number | null
  cells: SweepCell[]
  oracle: { dram_ratio: number; local_ratio: number }[]
  frontier: { run_id: string; policy: string; dram_ratio: number; cost_ratio: number; loss: number }[]
  searches: KnobSearch[]
  notes: string[]
}

export interface RunSeries {
  interval: number[]
  local_ratio: (number | null)[]
  local_ratio_by_kind: Record<string, (number | null)[]>
  promoted_pages: number[]
  demoted_pages: number[]
  ping_pong_pages: number[]
  dram_free_bytes: number[]
  swap_written_bytes: number[]
  failed_promotion_pages: number[]
  tier_move_mb_per_s: number[]
}

export interface SweepRun extends SweepCell {
  totals: Record<string, number>
  stall_seconds: number
  series: RunSeries
}

export interface SweepHeat {
  rows: { label: string; kind: string; pages: number }[]
  interval: number[]
  accesses: (number | null)[][]
  log2: true
}

import type { Sweep, SweepCell, SweepResults } from '../../../api/_generated/schema'
import { ratioName, type GridMetric } from '../../../lib/simulate'
import type { FigureValue } from '../../../lib/units/figure'
import { formatRatio, threeDigits } from '../../../lib/units/units'

/** A place of the grid: simulated, still to come, failed, or left out because the sweep does not have it. */
export type GridPlace =
  | { state: 'run'; cell: SweepCell; text: string; level: number | null }
  | { state: 'failed'; why: string }
  | { state: 'pending' }
  | { state: 'none' }

export interface GridRow {
  policy: string
  label: string
  places: GridPlace[]
}

export interface Grid {
  columns: { dramRatio: number; name: string }[]
  rows: GridRow[]
  /** The oracle's local share by column; null where it is not known. */
  oracle: (number | null)[]
  /** The value at which the colour is full. */
  most: number
}

/** The figure of a cell that a metric shows. */
export function metricFigure(cell: SweepCell, metric: GridMetric): FigureValue {
  switch (metric) {
    case 'loss':
      return cell.loss
    case 'local':
      return cell.local_ratio
    case 'moves':
      return cell.tier_move_mb_per_s
    case 'pingpong':
      return cell.ping_pong_ratio
  }
}

/** A value of a metric as the grid writes it; the unit stands above the grid. */
export function metricText(value: number, metric: GridMetric): string {
  return metric === 'moves' ? threeDigits(value) : formatRatio(value).replace(' %', '')
}

function same(a: number, b: number): boolean {
  return Math.abs(a - b) < 1e-6
}

/** Whether the sweep runs a policy at a DRAM share: all-DRAM has one share of its own, all others those asked for. */
function isAsked(sweep: Sweep, policy: string, ratio: number): boolean {
  return policy === 'all_dram' ? same(ratio, 1) : sweep.dram_ratios.some((asked) => same(asked, ratio))
}

/** A place without a run: it failed, is still to come, or was never asked for. */
function emptyPlace(sweep: Sweep, policy: string, ratio: number): GridPlace {
  if (!isAsked(sweep, policy, ratio)) return { state: 'none' }
  const task = sweep.tasks.find((candidate) => candidate.policy === policy)
  if (task?.status === 'failed') return { state: 'failed', why: task.error ?? 'The policy could not be simulated.' }
  return { state: task?.status === 'done' ? 'none' : 'pending' }
}

function runPlace(cell: SweepCell, metric: GridMetric, most: number): GridPlace {
  if (cell.error !== null) return { state: 'failed', why: cell.error }
  const { value } = metricFigure(cell, metric)
  return {
    state: 'run',
    cell,
    text: value === null ? '' : metricText(value, metric),
    level: value === null ? null : most === 0 ? 0 : Math.min(1, Math.max(0, value / most)),
  }
}

/** Policies by ratios: the rows in the sweep's order, the most DRAM first. */
export function gridOf(sweep: Sweep, results: SweepResults | undefined, metric: GridMetric): Grid {
  const cells = results?.cells ?? []
  const alone = sweep.policies.includes('all_dram') && !sweep.dram_ratios.some((ratio) => same(ratio, 1))
  const ratios = [...sweep.dram_ratios, ...(alone ? [1] : [])].sort((a, b) => b - a)
  const cellAt = (policy: string, ratio: number) =>
    cells.find((cell) => cell.policy === policy && same(cell.dram_ratio, ratio))
  const values = cells.flatMap((cell) => metricFigure(cell, metric).value ?? [])
  const most = metric === 'local' || metric === 'pingpong' ? 1 : Math.max(0, ...values)
  return {
    columns: ratios.map((dramRatio) => ({ dramRatio, name: ratioName(dramRatio) })),
    rows: sweep.policies.map((policy) => ({
      policy,
      label: sweep.tasks.find((task) => task.policy === policy)?.label ?? policy,
      places: ratios.map((ratio) => {
        const cell = cellAt(policy, ratio)
        return cell === undefined ? emptyPlace(sweep, policy, ratio) : runPlace(cell, metric, most)
      }),
    })),
    // With all memory in DRAM every access is local, by any policy.
    oracle: ratios.map((ratio) =>
      same(ratio, 1) ? 1 : (results?.oracle.find(({ dram_ratio }) => same(dram_ratio, ratio))?.local_ratio ?? null),
    ),
    most,
  }
}

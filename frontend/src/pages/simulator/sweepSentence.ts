import type { SweepCell, SweepResults, Sweep } from '../../api/_generated/schema'
import { ratioName } from '../../lib/simulate'
import { formatRatio } from '../../lib/units'

/** The loss that the sentence asks for. */
const target = 0.01

function lossOf(cell: SweepCell): number {
  return cell.loss.value ?? Infinity
}

function lossText(cell: SweepCell): string {
  const { interval } = cell.loss
  return `${formatRatio(lossOf(cell))}${interval === null ? '' : ` (interval up to ${formatRatio(interval.hi)})`}`
}

/**
 * The answer of a sweep in one sentence: the least DRAM with which some policy keeps the loss below 1 %, and where
 * none does, the least loss.
 */
export function sweepSentence(sweep: Sweep, results: SweepResults | undefined): string {
  const known = (results?.cells ?? []).filter((cell) => cell.policy !== 'oracle' && Number.isFinite(lossOf(cell)))
  const tiered = known.filter((cell) => cell.dram_ratio < 1 && cell.policy !== 'all_dram')
  if (tiered.length === 0) {
    return sweep.status === 'done' || sweep.status === 'cancelled' || sweep.status === 'failed'
      ? 'No run of this sweep has a loss to compare.'
      : `${sweep.done} of ${sweep.total} runs are done; the answer comes with the first of them.`
  }
  const byLoss = (a: SweepCell, b: SweepCell) => lossOf(a) - lossOf(b)
  const kept = tiered.filter((cell) => lossOf(cell) <= target)
  const least = Math.min(...kept.map((cell) => cell.dram_ratio))
  const [best] = (kept.length > 0 ? kept.filter((cell) => cell.dram_ratio === least) : tiered).sort(byLoss)
  if (best === undefined) return ''
  const share = `${ratioName(best.dram_ratio)} (${formatRatio(best.dram_ratio)} DRAM)`
  const standard = known.find((cell) => cell.policy === 'first_touch' && cell.dram_ratio === best.dram_ratio)
  const against =
    standard === undefined || standard.policy === best.policy ? '' : `; default Linux would lose ${lossText(standard)}`
  const soFar = sweep.status === 'queued' || sweep.status === 'running' ? 'So far: ' : ''
  return kept.length > 0
    ? `${soFar}${best.label} at ${share} needs the least DRAM for an estimated loss below 1 %: ${lossText(best)}${against}.`
    : `${soFar}No run keeps the estimated loss below 1 %; the least is ${best.label} at ${share}: ${lossText(best)}${against}.`
}

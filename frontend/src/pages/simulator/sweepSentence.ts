import type { SweepCell, SweepResults, Sweep } from '../../api/_generated/schema'
import { ratioName } from '../../lib/simulate'
import { formatRatio } from '../../lib/units/units'

/** The loss that the sentence asks for. */
const target = 0.01

function lossOf(cell: SweepCell): number {
  return cell.loss.value ?? Infinity
}

/** The most that a run may lose: the upper end of its interval; unknown where it has none. */
function mostLossOf(cell: SweepCell): number {
  return cell.loss.interval?.hi ?? Infinity
}

function lossText(cell: SweepCell): string {
  const { interval } = cell.loss
  return `${formatRatio(lossOf(cell))}${interval === null ? '' : ` (upper end ${formatRatio(interval.hi)})`}`
}

function shareText(cell: SweepCell): string {
  return `${ratioName(cell.dram_ratio)} (${formatRatio(cell.dram_ratio)} DRAM)`
}

/** Of the runs with the least DRAM the one that loses least; undefined where there is no run. */
function leastDram(cells: SweepCell[]): SweepCell | undefined {
  return [...cells].sort((a, b) => a.dram_ratio - b.dram_ratio || lossOf(a) - lossOf(b))[0]
}

/** What default Linux would lose with as much DRAM, where that is another run and known. */
function againstText(best: SweepCell, known: SweepCell[]): string {
  const standard = known.find((cell) => cell.policy === 'first_touch' && cell.dram_ratio === best.dram_ratio)
  return standard === undefined || standard.policy === best.policy
    ? ''
    : `; default Linux would lose ${lossText(standard)}`
}

/** The answer from runs that have a loss and less DRAM than everything. */
function answerOf(tiered: SweepCell[], known: SweepCell[]): string {
  const limit = formatRatio(target)
  const estimated = leastDram(tiered.filter((cell) => lossOf(cell) <= target))
  const sure = leastDram(tiered.filter((cell) => mostLossOf(cell) <= target))
  if (sure !== undefined) {
    const alone =
      estimated === undefined || estimated.dram_ratio >= sure.dram_ratio
        ? ''
        : ` By the estimate alone, ${estimated.label} at ${shareText(estimated)} would do: ${lossText(estimated)}.`
    return `${sure.label} at ${shareText(sure)} needs the least DRAM to lose at most ${limit}, even at the upper end of the estimate: ${lossText(sure)}${againstText(sure, known)}.${alone}`
  }
  if (estimated !== undefined) {
    const why = estimated.loss.interval === null ? 'how far it may be off is unknown' : 'but no run is sure to'
    return `By the estimate, ${estimated.label} at ${shareText(estimated)} needs the least DRAM to lose at most ${limit}, ${why}: ${lossText(estimated)}${againstText(estimated, known)}.`
  }
  const [least] = [...tiered].sort((a, b) => lossOf(a) - lossOf(b))
  return least === undefined
    ? ''
    : `No run loses at most ${limit} by the estimate; the least is ${least.label} at ${shareText(least)}: ${lossText(least)}${againstText(least, known)}.`
}

/**
 * The answer of a sweep in one sentence: the least DRAM with which some policy keeps the loss within 1 % even at the
 * upper end of its interval; where none does, the least by the estimate; and where none does that either, the least
 * loss.
 */
export function sweepSentence(sweep: Sweep, results: SweepResults | undefined): string {
  const known = (results?.cells ?? []).filter((cell) => cell.policy !== 'oracle' && Number.isFinite(lossOf(cell)))
  const tiered = known.filter((cell) => cell.dram_ratio < 1 && cell.policy !== 'all_dram')
  if (tiered.length === 0) {
    return sweep.status === 'done' || sweep.status === 'cancelled' || sweep.status === 'failed'
      ? 'No run of this sweep has a loss to compare.'
      : `${sweep.done} of ${sweep.total} runs are done; the answer comes with the first of them.`
  }
  const soFar = sweep.status === 'queued' || sweep.status === 'running' ? 'So far: ' : ''
  return `${soFar}${answerOf(tiered, known)}`
}

import { formatRatio } from '../units/units'
import type { Box } from '../url/urlState'
import { cellsInView } from './colourRange'
import type { ComparisonWords } from '../comparison'
import { compared, counts, notResident, onlyNow, onlyThen, type HeatDifference } from './difference'
import { formatActivity, isShare } from './heatGrid'

/** A difference summed up over what is in view. Shares are of bytes times time; null where nothing can be compared. */
export interface DifferenceSummary {
  /** What both sides sampled, of all that either side has. */
  comparedShare: number
  hotterShare: number | null
  colderShare: number | null
  meanNow: number | null
  meanThen: number | null
  onlyNowShare: number
  onlyThenShare: number
}

/** Sum up the cells of a difference that a view holds. */
export function summariseDifference(difference: HeatDifference, box: Box): DifferenceSummary {
  const { raster, state, now, then, measure } = difference
  const { rows, columns } = cellsInView(raster, box)
  const width = raster.columnEnds.length
  let [all, both, hotter, colder, sumNow, sumThen, fresh, gone] = [0, 0, 0, 0, 0, 0, 0, 0]
  for (let row = rows[0]; row < rows[1]; row += 1) {
    const bytes = raster.rows[row]?.sizeBytes ?? 0
    for (let cell = row * width + columns[0]; cell < row * width + columns[1]; cell += 1) {
      const at = state[cell] ?? notResident
      if (at === notResident) continue
      all += bytes
      if (at === onlyNow) fresh += bytes
      if (at === onlyThen) gone += bytes
      if (at !== compared) continue
      const [present, past] = [now.activity[cell] ?? 0, then.activity[cell] ?? 0]
      both += bytes
      sumNow += present * bytes
      sumThen += past * bytes
      if (!counts(measure, present, past)) continue
      if (present > past) hotter += bytes
      else colder += bytes
    }
  }
  const of = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)
  return {
    comparedShare: of(both, all) ?? 0,
    hotterShare: of(hotter, both),
    colderShare: of(colder, both),
    meanNow: of(sumNow, both),
    meanThen: of(sumThen, both),
    onlyNowShare: of(fresh, all) ?? 0,
    onlyThenShare: of(gone, all) ?? 0,
  }
}

/** What the difference says, in numbers, and of how much of the memory in view it says so. */
export function differenceSentence(summary: DifferenceSummary, measure: string, words: ComparisonWords): string {
  const { comparedShare, hotterShare, colderShare, meanNow, meanThen } = summary
  const oneSided = [
    ...(summary.onlyNowShare > 0 ? [`${formatRatio(summary.onlyNowShare)} is only ${words.now}`] : []),
    ...(summary.onlyThenShare > 0 ? [`${formatRatio(summary.onlyThenShare)} is only ${words.then}`] : []),
  ]
  const coverage = [`${formatRatio(comparedShare)} of the memory in view was sampled on both sides`, ...oneSided]
  if (hotterShare === null || colderShare === null || meanNow === null || meanThen === null)
    return `Nothing in view can be compared with ${words.other}: ${coverage.join(', ')}.`
  return (
    `${formatRatio(hotterShare)} of the compared memory is hotter than ${words.than} and ${formatRatio(colderShare)} ` +
    `colder, by more than ${isShare(measure) ? '5 points' : 'a fifth'}; mean activity ` +
    `${formatActivity(measure, meanThen)} ${words.then}, ${formatActivity(measure, meanNow)} ${words.now}. ` +
    `${coverage.join(', ')}.`
  )
}

/** The largest absolute change in view that the colours tell apart: of all changes, or of 98 % of them. */
export function changeLimit(difference: HeatDifference, box: Box, full: boolean): number {
  const { rows, columns } = cellsInView(difference.raster, box)
  const width = difference.raster.columnEnds.length
  const changes: number[] = []
  for (let row = rows[0]; row < rows[1]; row += 1) {
    for (let cell = row * width + columns[0]; cell < row * width + columns[1]; cell += 1) {
      const change = Math.abs(difference.change[cell] ?? NaN)
      if (!Number.isNaN(change)) changes.push(change)
    }
  }
  const sorted = Float64Array.from(changes).sort()
  const limit = sorted[full ? sorted.length - 1 : Math.ceil(0.98 * sorted.length) - 1] ?? 0
  return limit > 0 ? limit : 1
}

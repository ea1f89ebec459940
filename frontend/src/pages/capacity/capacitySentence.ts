import type { Capacity, CapacitySubject } from '../../api/_generated/schema'
import { formatDay } from '../../lib/units/time'
import { threeDigits, formatRatio } from '../../lib/units/units'

type Shown = Pick<CapacitySubject, 'name' | 'days_to_exhaustion' | 'refused' | 'method'>

/** The day on which a subject may be full at the earliest: the early warning, else the median; null where none is known. */
function firstDay({ days_to_exhaustion: days }: Pick<CapacitySubject, 'days_to_exhaustion'>): number | null {
  return days.early.value ?? days.median.value
}

/** The page's first line: who runs full first and when, or that nobody does, and how many cannot be told. */
export function capacitySentence(capacity: Pick<Capacity, 'group_by'> & { subjects: Shown[] }): string {
  const { subjects } = capacity
  const noun = capacity.group_by === 'service' ? 'service' : 'host group'
  const nouns = capacity.group_by === 'service' ? 'services' : 'host groups'
  const [any] = subjects
  if (any === undefined) return `No ${noun} has been measured yet.`
  const { threshold_ratio: threshold, horizon_days: horizon } = any.days_to_exhaustion
  const full = subjects
    .flatMap((subject) => {
      const day = firstDay(subject)
      return day === null ? [] : [{ subject, day }]
    })
    .sort((a, b) => a.day - b.day)
  const untold = subjects.filter((subject) => subject.method === null || subject.refused !== null).length
  const rest =
    untold === 0 ? '' : ` ${untold} of ${subjects.length} ${untold === 1 ? 'has' : 'have'} too little data to tell.`
  const level = `${formatRatio(threshold)} of its memory`
  const [first] = full
  if (first === undefined) {
    return untold === subjects.length
      ? `No forecast yet: all ${subjects.length} ${subjects.length === 1 ? noun : nouns} have too little data to tell.`
      : `No ${noun} reaches ${level} within ${horizon} days.${rest}`
  }
  const { early, median, early_at, median_at } = first.subject.days_to_exhaustion
  const on = (at: string | null) => (at === null ? '' : ` (${formatDay(new Date(at))})`)
  const warning = early.value === null ? '' : `, at the earliest in ${threeDigits(early.value)}${on(early_at)}`
  const when =
    median.value === null
      ? `as early as in ${threeDigits(first.day)} days${on(early_at)}`
      : `in ${threeDigits(median.value)} days${on(median_at)}${warning}`
  const who =
    full.length === 1
      ? `${first.subject.name} may reach ${level} ${when}.`
      : `${full.length} of ${subjects.length} ${nouns} may reach ${level} within ${horizon} days, ${first.subject.name} first: ${when}.`
  return `${who}${rest}`
}

import type { Capacity, CapacitySubject } from '../../api/_generated/schema'
import { formatDay } from '../../lib/units/time'
import { formatQuantity, formatRatio } from '../../lib/units/units'

type Shown = Pick<CapacitySubject, 'name' | 'days_to_exhaustion' | 'refused' | 'method'>

/** Days until a subject may be full at the earliest: the early warning, else the median; null where none is known. */
function firstDay({ days_to_exhaustion: days }: Pick<CapacitySubject, 'days_to_exhaustion'>): number | null {
  return days.early.value ?? days.median.value
}

/** The page's first line: who is full, who runs full next and when, or that nobody does, and how many cannot be told. */
export function capacitySentence(capacity: Pick<Capacity, 'group_by'> & { subjects: Shown[] }): string {
  const { subjects } = capacity
  const noun = capacity.group_by === 'service' ? 'service' : 'host group'
  const count = (n: number) => `${n} of ${subjects.length} ${noun}s`
  const [any] = subjects
  if (any === undefined) return `No ${noun} has been measured yet.`
  const { threshold_ratio: threshold, horizon_days: horizon } = any.days_to_exhaustion
  const soonest = subjects
    .flatMap((subject) => {
      const day = firstDay(subject)
      return day === null ? [] : [{ subject, day }]
    })
    .sort((a, b) => a.day - b.day)
  const full = soonest.filter(({ subject }) => subject.days_to_exhaustion.median.value === 0)
  const next = soonest.filter(({ subject }) => subject.days_to_exhaustion.median.value !== 0)
  const untold = subjects.filter((subject) => subject.method === null || subject.refused !== null).length
  const rest =
    untold === 0 ? '' : ` ${untold} of ${subjects.length} ${untold === 1 ? 'has' : 'have'} too little data to tell.`
  const level = `${formatRatio(threshold)} of the memory`
  const [first] = next
  const [worst] = full
  if (first === undefined && worst === undefined) {
    return untold === subjects.length
      ? `No forecast yet: all ${subjects.length} ${subjects.length === 1 ? noun : `${noun}s`} have too little data to tell.`
      : `No ${noun} reaches ${level} within ${horizon} days.${rest}`
  }
  const holds = full.length === 1 ? `${worst?.subject.name} holds` : `${count(full.length)} hold`
  const now = worst === undefined ? '' : `${holds} ${level} or more now. `
  if (first === undefined) return `${now.trimEnd()}${rest}`
  const { early, median, early_at, median_at } = first.subject.days_to_exhaustion
  const on = (at: string | null) => (at === null ? '' : ` (${formatDay(new Date(at))})`)
  const inDays = (days: number, at: string | null) =>
    days === 0 ? 'today' : `in ${formatQuantity(days, 'days')}${on(at)}`
  const warning =
    early.value === null || early.value === median.value ? '' : `, at the earliest ${inDays(early.value, early_at)}`
  const when =
    median.value === null
      ? `as early as ${inDays(first.day, early_at)}`
      : `${inDays(median.value, median_at)}${warning}`
  const who =
    next.length === 1
      ? `${first.subject.name} may reach ${level} ${when}.`
      : `${count(next.length)} may reach ${level} within ${horizon} days, ${first.subject.name} first: ${when}.`
  return `${now}${who}${rest}`
}

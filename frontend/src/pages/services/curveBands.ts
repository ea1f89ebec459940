import type { Curve, Figure } from '../../api/_generated/schema'
import { formatRatio } from '../../lib/units/units'

/** A band that is wider says nearly nothing of the value in it. */
const vacuousWidth = 0.6

type Interval = Figure['interval']

/** An interval in words; a dash where there is none. */
export function intervalWords(interval: Interval): string {
  return interval === null ? '–' : `${formatRatio(interval.lo)} – ${formatRatio(interval.hi)}`
}

/** Whether an interval of a share is too wide to say something. */
export function isVacuous(interval: Pick<NonNullable<Interval>, 'lo' | 'hi'> | null): boolean {
  return interval !== null && interval.hi - interval.lo > vacuousWidth
}

/** At which shares of DRAM the bands of curves say nearly nothing, a sentence each. */
export function vacuousWords({ curves }: Pick<Curve, 'curves'>): string[] {
  return curves.flatMap((curve) => vacuousOf(curve) ?? [])
}

function vacuousOf({ label, dram_ratios: shares, lo: los, hi: his }: Curve['curves'][number]): string | null {
  const wide = shares.filter((_, index) => {
    const [lo, hi] = [los[index] ?? null, his[index] ?? null]
    return lo !== null && hi !== null && isVacuous({ lo, hi })
  })
  const [first, last] = [wide[0], wide.at(-1)]
  if (first === undefined || last === undefined) return null
  const where = `${label}: ${first === last ? `at ${formatRatio(first)}` : `from ${formatRatio(first)} to ${formatRatio(last)}`}`
  return `${where} of memory in DRAM the band is wider than 60 points: the curve says nearly nothing there.`
}

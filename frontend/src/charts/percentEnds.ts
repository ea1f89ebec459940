/**
 * The steps of a per cent around ratios: a colour scale of 0 to 100 hides what differs between 20 and 30. A step apart
 * at least; the whole range without any ratio.
 */
export function percentEnds(ratios: (number | null)[], step: number): { low: number; high: number } {
  const percents = ratios.filter((ratio) => ratio !== null).map((ratio) => ratio * 100)
  if (percents.length === 0) return { low: 0, high: 100 }
  const low = Math.floor(Math.min(...percents) / step) * step
  return { low, high: Math.max(low + step, Math.ceil(Math.max(...percents) / step) * step) }
}

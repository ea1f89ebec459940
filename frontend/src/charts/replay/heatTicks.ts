/** Ticks of a colour bar whose values are log2 of 1 + accesses, as counts of accesses; at most six. */
export function heatTicks(accesses: (number | null)[][]): { tickvals: number[]; ticktext: string[] } {
  const top = accesses.reduce((most, row) => row.reduce<number>((best, value) => Math.max(best, value ?? 0), most), 0)
  const step = Math.max(1, Math.ceil(top / 5))
  const tickvals: number[] = []
  for (let power = 0; power <= top; power += step) tickvals.push(power)
  return { tickvals, ticktext: tickvals.map((power) => countWord(2 ** power - 1)) }
}

/** A count in three digits at most: `1.5k`. */
export function countWord(count: number): string {
  if (count < 1000) return String(Math.round(count))
  const units = ['k', 'M', 'G', 'T']
  let value = count
  let unit = ''
  for (const next of units) {
    if (value < 1000) break
    value /= 1000
    unit = next
  }
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}${unit}`
}

/** A stretch that totals leave out. `at` is in Unix seconds; no columns means all of them. */
interface Reset {
  at: number
  cause: string
  columns: string[]
}

/** All stretches of one cause. */
export interface ResetCause {
  cause: string
  stretches: number
  firstSeconds: number
  lastSeconds: number
  columns: string[]
}

/** Stretches by cause, the commonest first: a service has one per host, counter and gap. */
export function groupResets(resets: Reset[]): ResetCause[] {
  const causes = new Map<string, ResetCause>()
  for (const reset of resets) {
    const known = causes.get(reset.cause)
    if (known === undefined) {
      causes.set(reset.cause, {
        cause: reset.cause,
        stretches: 1,
        firstSeconds: reset.at,
        lastSeconds: reset.at,
        columns: [...reset.columns],
      })
      continue
    }
    known.stretches += 1
    known.firstSeconds = Math.min(known.firstSeconds, reset.at)
    known.lastSeconds = Math.max(known.lastSeconds, reset.at)
    known.columns = [...new Set([...known.columns, ...reset.columns])]
  }
  return [...causes.values()].sort((a, b) => b.stretches - a.stretches)
}

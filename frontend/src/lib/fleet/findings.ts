/** What is needed of a finding to rank it. */
interface Ranked {
  severity: 'info' | 'warning' | 'critical'
  confidence: 'certain' | 'likely' | 'possible'
}

const severityRank = { critical: 0, warning: 1, info: 2 } as const
const confidenceRank = { certain: 0, likely: 1, possible: 2 } as const

/** Findings by severity, then by confidence; the order of equals stays. */
export function byUrgency<T extends Ranked>(findings: T[]): T[] {
  return [...findings].sort(
    (a, b) =>
      severityRank[a.severity] - severityRank[b.severity] ||
      confidenceRank[a.confidence] - confidenceRank[b.confidence],
  )
}

/** The finding that matters most; null where there is none. */
export function worstFinding<T extends Ranked>(findings: T[]): T | null {
  return byUrgency(findings)[0] ?? null
}

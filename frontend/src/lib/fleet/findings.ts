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

/** A finding with the hosts whose worst one it is. */
export interface FindingGroup<Finding, Host> {
  finding: Finding
  hosts: Host[]
}

/** Hosts by their worst finding: the most severe first, then those that touch most hosts. */
export function groupByFinding<F extends Ranked & { id: string }, H extends { findings: F[] }>(
  hosts: H[],
): FindingGroup<F, H>[] {
  const groups = new Map<string, FindingGroup<F, H>>()
  for (const host of hosts) {
    const finding = worstFinding(host.findings)
    if (finding === null) continue
    const known = groups.get(finding.id)
    if (known === undefined) groups.set(finding.id, { finding, hosts: [host] })
    else known.hosts.push(host)
  }
  return [...groups.values()].sort(
    (a, b) => severityRank[a.finding.severity] - severityRank[b.finding.severity] || b.hosts.length - a.hosts.length,
  )
}

import { worstFinding } from './findings'

interface RankedFinding {
  id: string
  severity: 'info' | 'warning' | 'critical'
  confidence: 'certain' | 'likely' | 'possible'
}

/** A finding with the hosts whose worst one it is. */
export interface FindingGroup<Finding, Host> {
  finding: Finding
  hosts: Host[]
}

const severityRank = { critical: 0, warning: 1, info: 2 } as const

/** Hosts by their worst finding: the most severe first, then those that touch most hosts. */
export function groupByFinding<F extends RankedFinding, H extends { findings: F[] }>(hosts: H[]): FindingGroup<F, H>[] {
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

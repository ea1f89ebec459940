import { expect, it } from 'vitest'
import { groupByFinding } from './findingGroups'

const finding = (id: string, severity: 'info' | 'warning' | 'critical') => ({
  id,
  severity,
  confidence: 'certain' as const,
})

it('puts each host under its worst finding, and the worst finding first', () => {
  const groups = groupByFinding([
    { name: 'a', findings: [finding('clock', 'warning')] },
    { name: 'b', findings: [finding('clock', 'warning'), finding('ping-pong', 'critical')] },
    { name: 'c', findings: [finding('clock', 'warning')] },
    { name: 'd', findings: [] },
  ])
  expect(groups.map((group) => [group.finding.id, group.hosts.map((host) => host.name)])).toEqual([
    ['ping-pong', ['b']],
    ['clock', ['a', 'c']],
  ])
})

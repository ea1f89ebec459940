import { expect, it } from 'vitest'
import { byUrgency, groupByFinding, worstFinding } from './findings'

it('ranks findings by severity, then by confidence', () => {
  const findings = [
    { id: 'a', severity: 'info', confidence: 'certain' },
    { id: 'b', severity: 'critical', confidence: 'possible' },
    { id: 'c', severity: 'critical', confidence: 'certain' },
    { id: 'd', severity: 'warning', confidence: 'likely' },
  ] as const
  expect(byUrgency([...findings]).map(({ id }) => id)).toEqual(['c', 'b', 'd', 'a'])
  expect(worstFinding([...findings])?.id).toBe('c')
  expect(worstFinding([])).toBeNull()
})

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

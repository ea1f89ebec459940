import { expect, it } from 'vitest'
import { byUrgency, worstFinding } from './findings'

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

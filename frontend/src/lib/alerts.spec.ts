import { describe, expect, it } from 'vitest'
import { matchersText, readMatchers, urgency } from './alerts'

describe('alerts', () => {
  it('are ordered by severity, then by age', () => {
    const alerts = [
      { severity: 'info', started_at: '2026-11-20T00:00:00Z' },
      { severity: 'critical', started_at: '2026-11-21T02:00:00Z' },
      { severity: 'critical', started_at: '2026-11-21T01:00:00Z' },
      { severity: 'warning', started_at: '2026-11-19T00:00:00Z' },
    ] as const
    const sorted = [...alerts].sort((a, b) => urgency(a) - urgency(b))
    expect(sorted.map(({ severity }) => severity)).toEqual(['critical', 'critical', 'warning', 'info'])
    expect(sorted[0]?.started_at).toBe('2026-11-21T01:00:00Z')
  })
})

describe('matchers', () => {
  it('come back as written', () => {
    const text = 'severity="critical", service=~"check.*", host!="a,b"'
    const read = readMatchers(text)
    expect(read).toEqual([
      { name: 'severity', op: '=', value: 'critical' },
      { name: 'service', op: '=~', value: 'check.*' },
      { name: 'host', op: '!=', value: 'a,b' },
    ])
    expect(typeof read === 'string' ? read : matchersText(read)).toBe(text)
  })

  it('may go without quotes, and say where they are not understood', () => {
    expect(readMatchers('severity=info')).toEqual([{ name: 'severity', op: '=', value: 'info' }])
    expect(readMatchers('severity critical')).toContain('severity critical')
    expect(readMatchers('')).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { intervalWords, isVacuous, vacuousWords } from './curveBands'

describe('bands that say nearly nothing', () => {
  const [found] = recorded('/v1/services/{service_id}/curve', 'svc-redis').curves
  if (found === undefined) throw new Error('the mock has a curve')

  it('are named by the shares of DRAM at which they are', () => {
    const shares = { ...found, name: 'top_density' as const, dram_ratios: [0.05, 0.1, 0.5] }
    const wide = { ...shares, lo: [0.27, 0.3, 0.8], hi: [0.98, 0.95, 0.9] }
    expect(vacuousWords({ curves: [wide] })[0]).toMatch(
      /: from 5 % to 10 % of memory in DRAM the band is wider than 60 points/,
    )
    expect(vacuousWords({ curves: [{ ...wide, lo: [0.27, null, 0.8] }] })[0]).toMatch(/: at 5 % of memory/)
    expect(vacuousWords({ curves: [{ ...shares, lo: [0.9, 0.9, 0.9], hi: [1, 1, 1] }] })).toEqual([])
  })

  it('are told from narrow ones, and from none', () => {
    const interval = { lo: 0.2, hi: 0.81, level: 0.95, kind: 'confidence' as const }
    expect([isVacuous(interval), isVacuous({ ...interval, hi: 0.79 }), isVacuous(null)]).toEqual([true, false, false])
    expect([intervalWords(interval), intervalWords(null)]).toEqual(['20 % – 81 %', '–'])
  })
})

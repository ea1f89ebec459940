import { expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { fairShareFigure, mostTenants, shareLines } from './figure'

const answer = recorded('/v1/hosts/{host_id}/fairness')

it('draws what is held solid and the fair share dashed, in one colour for each tenant', () => {
  const [, , held, fair] = fairShareFigure(answer, chartThemes.dark).data as { line: { color: string; dash: string } }[]
  expect([held?.line.dash, fair?.line.dash]).toEqual(['solid', 'dash'])
  expect(held?.line.color).toBe(fair?.line.color)
})

it('shows per cent of the top tier, and keeps gaps', () => {
  const held = fairShareFigure(answer, chartThemes.light).data[2] as { y: (number | null)[] }
  expect(held.y).toContain(null)
  expect(Math.max(...held.y.map((value) => value ?? 0))).toBeGreaterThan(10)
})

it('draws no more tenants than can be told apart, and has all of them in its table', () => {
  const tenants = answer.tenants
    .slice(0, 1)
    .flatMap((one) => Array.from({ length: 9 }, (_, n) => ({ ...one, id: `t${n}` })))
  const series = tenants.map(({ id }) => ({ key: `held:${id}`, label: id, unit: 'ratio', values: [0.1] }))
  const many = { ...answer, tenants, series }
  expect(shareLines(many)).toHaveLength(mostTenants)
  expect(fairShareFigure(many, chartThemes.light).table.columns).toHaveLength(10)
})

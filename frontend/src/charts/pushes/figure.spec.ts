import { expect, it } from 'vitest'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { pushesFigure, restName } from './figure'

const figure = pushesFigure(recorded('/v1/hosts/{host_id}/fairness'), chartThemes.dark)

it('puts victims down and takers across, with the rest of the host last', () => {
  expect(figure.layout.xaxis?.ticktext?.at(-1)).toContain('rest of the host')
  const map = figure.data[0] as { z: (number | null)[][] }
  expect(map.z).toHaveLength(1)
  expect(map.z[0]?.some((value) => value === null)).toBe(false)
})

it('tells bounds, how sure it is, and the correlation with its interval on hover', () => {
  const map = figure.data[0] as unknown as { customdata: string[][] }
  expect(map.customdata[0]?.[0]).toMatch(/pages<\/b> \(.+ to .+\)<br>.+<br>correlation 0\.\d\d \(/)
})

it('has every pair in its table', () => {
  expect(figure.table.rows.map((row) => row[1])).toContain(restName)
  expect(figure.table.rows[0]).toHaveLength(figure.table.columns.length)
})

it('escapes names', () => {
  const answer = recorded('/v1/hosts/{host_id}/fairness')
  const named = { ...answer, tenants: answer.tenants.map((tenant) => ({ ...tenant, name: '<b>x' })) }
  expect(JSON.stringify(pushesFigure(named, chartThemes.light).layout)).not.toContain('<b>')
})

import { expect, it } from 'vitest'
import type { TierFlow } from '../../api/_generated/schema'
import { chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { nothing } from '../../mock-api/figures'
import { hasFlow, tierFlowFigure } from './figure'

const flow = recorded('/v1/fleet').tier_flow
const absent = nothing('swap.in_bytes_per_s/1', 'bytes_per_s', 'not_supported', 'This kernel does not <b>count it.')

function drawn(over: Partial<TierFlow>) {
  const { data, layout, table } = tierFlowFigure({ ...flow, ...over }, 18, chartThemes.light)
  const arrows = (layout.shapes ?? []).slice(4)
  const labels = (layout.annotations ?? []).slice(3).map(({ text }) => text ?? '')
  return { arrows, labels, table, hovers: (data[0] as unknown as { customdata: string[] }).customdata }
}

/** The widths of an arrow's shaft, from its path: the distance of its first and last corner. */
function widthOf(arrow: { path?: string | undefined } | undefined): number {
  const numbers = (arrow?.path ?? '').match(/[\d.]+/g)?.map(Number) ?? []
  return (numbers.at(-2) ?? 0) - (numbers[0] ?? 0)
}

it('draws arrows as wide as their rates, each with its rate and its hosts', () => {
  const { arrows, labels } = drawn({})
  const [promoted, demoted] = arrows
  const down = (flow.demotion_bytes_per_s.value ?? 0) + (flow.damon_demotion_bytes_per_s.value ?? 0)
  const ratio = (flow.promotion_bytes_per_s.value ?? 0) / down
  expect(widthOf(promoted) / widthOf(demoted)).toBeCloseTo(ratio, 6)
  expect(labels[0]).toBe('↑ promoted<br><b>9.46 MB/s</b><br>14 of 18 hosts')
  expect(labels[1]).toContain('↓ demoted')
  expect(labels[1]).toContain('<br>DAMON 1.5 MB/s')
})

it('tells a flow that nobody counts from one of zero', () => {
  const { arrows, labels, table, hovers } = drawn({
    swap_in_bytes_per_s: absent,
    swap_out_bytes_per_s: { ...flow.swap_out_bytes_per_s, value: 0 },
  })
  expect(arrows.slice(2).map((arrow) => arrow.line?.dash)).toEqual(['dot', 'dash'])
  expect(labels[2]).toContain('not counted')
  expect(labels[3]).toContain('0 B/s')
  expect(table.rows.map((row) => row[3]).slice(4)).toEqual([null, 0])
  expect(table.rows[1]?.at(-1)).toContain('No scheme of DAMON')
  expect(table.rows[4]?.at(-1)).toContain('does not')
  expect(hovers[2]).not.toContain('<b>count')
})

it('knows a flow as soon as one rate is known', () => {
  expect(hasFlow(flow)).toBe(true)
  const none = Object.fromEntries(Object.keys(flow).map((key) => [key, absent])) as unknown as TierFlow
  expect(hasFlow(none)).toBe(false)
  expect(hasFlow({ ...none, damon_demotion_bytes_per_s: flow.damon_demotion_bytes_per_s })).toBe(true)
})

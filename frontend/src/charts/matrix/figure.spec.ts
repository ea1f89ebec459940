import { expect, it } from 'vitest'
import { changeColours, chartThemes } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { largestServices, serviceHeatFigure } from '../serviceHeat/figure'
import { moveGhost } from '../ghost'
import { matrixFigure, matrixLines } from './figure'

const overview = recorded('/v1/fleet')

it('draws cold shares in per cent, the first service on top, and leaves what was not measured empty', () => {
  const figure = matrixFigure(overview, chartThemes.dark)
  const map = figure.data[0] as { y: string[]; z: (number | null)[][]; hoverongaps: boolean }
  expect(map.y.at(-1)).toBe(overview.matrix[0]?.service_id)
  const unmeasured = map.z[map.y.indexOf('svc-batch')]
  expect(unmeasured?.every((value) => value === null)).toBe(true)
  expect(map.z.flat().every((value) => value === null || (value >= 0 && value <= 100))).toBe(true)
  expect(map.hoverongaps).toBe(false)
})

it('scales colours to the tens around the values', () => {
  const narrow = { ...overview, matrix: overview.matrix.map((row) => ({ ...row, cold_ratio: [0.21, null, 0.28] })) }
  const map = matrixFigure(narrow, chartThemes.dark).data[0] as { zmin: number; zmax: number }
  expect([map.zmin, map.zmax]).toEqual([20, 30])
  const level = { ...overview, matrix: overview.matrix.map((row) => ({ ...row, cold_ratio: [0.3] })) }
  const flat = matrixFigure(level, chartThemes.dark).data[0] as { zmin: number; zmax: number }
  expect([flat.zmin, flat.zmax]).toEqual([30, 40])
})

it('draws the change of cold shares against another time, and leaves empty what one side lacks', () => {
  const [first] = overview.matrix
  if (first === undefined) throw new Error('the mock fleet has a matrix')
  const width = overview.matrix_axis.times.length
  const row = (ratios: (number | null)[]) => ({
    ...overview,
    matrix: [{ ...first, cold_ratio: Array.from({ length: width }, (_, place) => ratios[place] ?? null) }],
  })
  const then = row([0.2, 0.5, null])
  const ghost = moveGhost('1 day before', matrixLines(then), { shiftSeconds: 0, fromSeconds: 0 })
  const figure = matrixFigure(row([0.5, 0.4, 0.3]), chartThemes.light, [], ghost)
  const map = figure.data[0] as unknown as {
    z: (number | null)[][]
    zmin: number
    zmax: number
    colorscale: [number, string][]
    customdata: string[][]
  }
  expect(map.z[0]?.slice(0, 2).map((change) => Math.round(change ?? 0))).toEqual([30, -10])
  expect(map.z[0]?.slice(2).every((change) => change === null)).toBe(true)
  expect([map.zmin, map.zmax]).toEqual([-30, 30])
  // More cold memory is blue, as less activity is in the heatmap.
  const places = map.colorscale.map(([place]) => place)
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(map.colorscale.at(-1)?.[1]).toBe(changeColours.light[0]?.[1])
  expect(map.customdata[0]?.[0]).toContain('1 day before: 20.0 % cold')
  expect(figure.table.columns.at(-1)).toContain('1 day before')
  expect(figure.table.rows[1]?.at(-1)).toBe(0.5)
})

it('escapes service names on axes', () => {
  const layout = matrixFigure(overview, chartThemes.light).layout
  expect(JSON.stringify(layout.yaxis?.ticktext)).not.toContain('<b>')
})

it('stacks the classes of each service up to its size, and hatches the rest', () => {
  const figure = serviceHeatFigure(overview.services, chartThemes.light)
  const bars = figure.data as unknown as { y: string[]; x: number[] }[]
  const place = bars[0]?.y.indexOf('svc-batch') ?? -1
  const [hot, warm, cold, rest] = bars.map((bar) => bar.x[place] ?? 0)
  expect([hot, warm, cold]).toEqual([0, 0, 0])
  expect(rest).toBeGreaterThan(0)
  const other = bars[0]?.y.indexOf('svc-redis') ?? -1
  expect(bars[3]?.x[other]).toBeCloseTo(0)
})

it('shows the largest services first', () => {
  expect(largestServices(overview.services, 2).map(({ id }) => id)).toEqual(['svc-pg', 'svc-redis'])
})

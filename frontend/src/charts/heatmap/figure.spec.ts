import { describe, expect, it } from 'vitest'
import { decodeGrid } from '../../api/queries/heat/tiles'
import { chartThemes } from '../../lib/palette'
import { plotTime } from '../../lib/units/time'
import { tilesBody } from '../../mock-api/answer'
import { boxOfBrush, boxOfChange } from './changes'
import { heatmapFigure } from './figure'
import { activityBlock, activityLayers, evenColumns } from './layers'
import { labelsInView, lanes, mappings, offsetTicks, rowLabels } from './lanes'
import { colourRange } from '../../lib/heat/colourRange'
import type { HeatGrid } from '../../lib/heat/heatGrid'

const grid = decodeGrid(tilesBody('s'))
const box = { t0: (grid.columnEnds[0] ?? 0) - 60, t1: grid.columnEnds.at(-1) ?? 0, r0: 0, r1: grid.rows.length }
const view = {
  box,
  selection: null,
  brush: false,
  height: 600,
  width: 1200,
  marks: [],
  bar: true,
  rowsFixed: false,
  outline: '#ffffff',
}
const layersOf = (of: HeatGrid, theme = chartThemes.light) =>
  activityLayers(activityBlock(of), of, colourRange(of, box, true), theme)

describe('a heat grid', () => {
  it('is decoded from the binary answer, cell by cell', () => {
    expect(grid.cells).toHaveLength(grid.rows.length * grid.columnEnds.length)
    expect(grid.rows[0]).toMatchObject({ kind: 'anon', mapping: 'anon-1', offsetBytes: 0 })
  })

  it('is refused when its cells do not match its header', () => {
    expect(() => decodeGrid(tilesBody('s').slice(0, -1))).toThrow(RangeError)
  })

  it('has lanes by kind and runs by mapping', () => {
    expect(lanes(grid).map(({ label }) => label)).toEqual(['anon', 'file', 'tmpfs'])
    expect(mappings(grid)[0]).toEqual({ label: 'anon-1', r0: 0, r1: 120 })
  })

  it('labels only runs that have room, and never two on one line', () => {
    const labels = labelsInView(mappings(grid), 0, grid.rows.length, 500)
    expect(labels.map(({ label }) => label)).not.toContain('[stack]')
    const pixels = labels.map(({ at }) => (at / grid.rows.length) * 500)
    pixels.slice(1).forEach((pixel, index) => expect(pixel - (pixels[index] ?? 0)).toBeGreaterThanOrEqual(14))
  })

  it('leaves a hole for a missing column', () => {
    const columns = evenColumns({ ...grid, columnSeconds: 60, columnEnds: [60, 120, 300] })
    expect(columns.ends).toEqual([60, 120, 180, 240, 300])
    expect(columns.source).toEqual([0, 1, null, null, 2])
  })
})

describe('the heatmap', () => {
  it('draws activity, idle, absent and unsampled cells apart', () => {
    const figure = heatmapFigure(grid, view, chartThemes.dark, layersOf(grid, chartThemes.dark))
    const [activity, special] = figure.data as unknown as { z: (number | null)[][] }[]
    const width = grid.columnEnds.length
    grid.cells.forEach((code, index) => {
      const [row, column] = [Math.floor(index / width), index % width]
      if (column % 37 !== 0) return
      expect(activity?.z[row]?.[column]).toBe(code > 0 && code <= 250 ? code : null)
      expect(special?.z[row]?.[column]).toBe(code === 254 ? 0 : code === 253 ? 1 : code === 0 ? 2 : null)
    })
  })

  it('puts the first row on top and follows the view', () => {
    const figure = heatmapFigure(grid, { ...view, box: { ...box, r0: 10, r1: 50 }, brush: true }, chartThemes.light, [])
    expect(figure.layout.yaxis?.range).toEqual([50, 10])
    expect(figure.layout.dragmode).toBe('drawrect')
  })

  it('escapes mapping names', () => {
    const hostile = { ...grid, rows: grid.rows.map((row) => ({ ...row, mapping: '<i>x' })) }
    const figure = heatmapFigure(hostile, view, chartThemes.light, layersOf(hostile))
    expect(figure.layout.annotations?.map(({ text }) => text)).toContain('&lt;i&gt;x')
    expect(JSON.stringify(figure.layout)).not.toContain('<i>')
  })

  it('writes offsets in one unit at round places, and the name of what is too low for them', () => {
    const runs = mappings(grid)
    const [first] = runs
    if (first === undefined) throw new Error('the grid has no rows')
    const ticks = offsetTicks(grid, first, { r0: 0, r1: 240, plotPixels: 480 })
    expect(ticks.map(({ label }) => label)).toEqual(['0 MiB', '64 MiB', '128 MiB', '192 MiB'])
    expect(ticks.map(({ at }) => at)).toEqual([0, 32, 64, 96])
    const labels = rowLabels(grid, 0, grid.rows.length, 500)
    expect(labels.upright.map(({ label }) => label)).toContain('anon-1')
    expect(labels.ticks.map(({ label }) => label)).toContain('shm-sessions')
  })

  it('names the ends of a colour scale as bounds, and what it measures with its unit', () => {
    const [activity] = activityLayers(
      activityBlock(grid),
      grid,
      { low: 60, high: 160, cutsLow: true, cutsHigh: false },
      chartThemes.light,
    ) as unknown as {
      zmin: number
      colorbar: { title: { text: string }; ticktext: string[] }
    }[]
    expect(activity?.zmin).toBe(60)
    expect(activity?.colorbar.title.text).toBe('active share of bytes per interval, % (log scale)')
    expect(activity?.colorbar.ticktext.slice(0, 2)).toEqual(['≤ 0.2 %', '16 %'])
    expect(activity?.colorbar.ticktext).toContain('1.0 %')
  })

  it('draws some rows where they stand in the whole', () => {
    const block = activityBlock(grid, [120, 180])
    expect([block.y[0], block.y.length]).toEqual([120.5, 60])
    expect(block.values[0]).toEqual(activityBlock(grid).values[120])
  })
})

describe('what the viewer does', () => {
  it('is a new view where axes moved, whichever of them', () => {
    const moved = boxOfChange({ 'yaxis.range[0]': 80, 'yaxis.range[1]': 20 }, box)
    expect(moved).toEqual({ ...box, r0: 20, r1: 80 })
    expect(boxOfChange({ 'xaxis.range[0]': plotTime(1000), 'xaxis.range[1]': plotTime(2000) }, box)).toMatchObject({
      t0: 1000,
      t1: 2000,
      r0: 0,
    })
    expect(boxOfChange({ width: 3 }, box)).toBeNull()
  })

  it('is a selection where a rectangle was drawn, in any direction', () => {
    const rect = { type: 'rect', yref: 'y', x0: plotTime(2000), x1: plotTime(1000), y0: 9, y1: 3 }
    expect(boxOfBrush({ shapes: [{ type: 'line' }, rect] })).toEqual({ t0: 1000, t1: 2000, r0: 3, r1: 9 })
    expect(boxOfBrush({ shapes: [{ ...rect, y1: 9 }] })).toBeNull()
    expect(boxOfBrush({ shapes: [{ type: 'line', yref: 'y' }] })).toBeNull()
    expect(boxOfBrush({})).toBeNull()
  })
})

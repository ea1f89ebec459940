import { describe, expect, it } from 'vitest'
import { decodeGrid } from '../../api/queries/heat/tiles'
import { chartThemes } from '../../lib/palette'
import { plotTime } from '../../lib/units/time'
import { tilesBody } from '../../mock-api/heat/tiles'
import { boxOfBrush, boxOfChange } from './changes'
import { heatmapFigure } from './figure'
import { evenColumns } from './layers'
import { labelsInView, lanes, mappings } from './lanes'

const grid = decodeGrid(tilesBody('s'))
const box = { t0: (grid.columnEnds[0] ?? 0) - 60, t1: grid.columnEnds.at(-1) ?? 0, r0: 0, r1: grid.rows.length }
const view = { box, selection: null, brush: false, height: 600, width: 1200, marks: [] }

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
    const columns = evenColumns({ ...grid, columnEnds: [60, 120, 300] })
    expect(columns.ends).toEqual([60, 120, 180, 240, 300])
    expect(columns.source).toEqual([0, 1, null, null, 2])
  })
})

describe('the heatmap', () => {
  it('draws activity, idle, absent and unsampled cells apart', () => {
    const figure = heatmapFigure(grid, view, chartThemes.dark)
    const [activity, special] = figure.data as unknown as { z: (number | null)[][] }[]
    const width = grid.columnEnds.length
    grid.cells.forEach((code, index) => {
      const [row, column] = [Math.floor(index / width), index % width]
      if (column % 37 !== 0) return
      expect(activity?.z[row]?.[column]).toBe(code <= 250 ? code : null)
      expect(special?.z[row]?.[column]).toBe(code === 254 ? 0 : code === 253 ? 1 : null)
    })
  })

  it('puts the first row on top and follows the view', () => {
    const figure = heatmapFigure(grid, { ...view, box: { ...box, r0: 10, r1: 50 }, brush: true }, chartThemes.light)
    expect(figure.layout.yaxis?.range).toEqual([50, 10])
    expect(figure.layout.dragmode).toBe('drawrect')
  })

  it('escapes mapping names', () => {
    const hostile = { ...grid, rows: grid.rows.map((row) => ({ ...row, mapping: '<i>x' })) }
    const figure = heatmapFigure(hostile, view, chartThemes.light)
    expect(figure.layout.yaxis?.ticktext).toContain('&lt;i&gt;x')
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

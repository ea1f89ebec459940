import type { ColorBar, Data } from 'plotly.js'
import type { ColourRange } from '../../lib/heat/colourRange'
import {
  activityCode,
  cellActivity,
  cellMaximum,
  cellNotCollected,
  cellNotResident,
  cellUnsampled,
  formatActivity,
  measureTitle,
  type ActivityScale,
  type HeatGrid,
  type HeatRaster,
} from '../../lib/heat/heatGrid'
import { activityColours, idleColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'

/** The raster's columns evenly spaced, so that a missing column is a hole and its neighbours do not grow over it. */
export function evenColumns(raster: HeatRaster): { ends: number[]; source: (number | null)[] } {
  const first = raster.columnEnds[0]
  const last = raster.columnEnds.at(-1)
  if (first === undefined || last === undefined) return { ends: [], source: [] }
  const count = Math.round((last - first) / raster.columnSeconds) + 1
  const ends = Array.from({ length: count }, (_, index) => first + index * raster.columnSeconds)
  const source: (number | null)[] = ends.map(() => null)
  raster.columnEnds.forEach((end, index) => {
    const place = Math.round((end - first) / raster.columnSeconds)
    if (place >= 0 && place < count) source[place] = index
  })
  return { ends, source }
}

/** Rows [first, last) of a raster; all of them where none are named. */
export type RowSpan = [number, number]

/** Values of cells over the places that Plotly draws them at; `known` is the coverage of each column. */
export interface CellBlock {
  x: string[]
  y: number[]
  values: (number | null)[][]
  states: (number | null)[][]
  anyState: boolean
  known: (number | null)[]
}

/** Spread cells of a raster evenly: `valueOf` and `stateOf` say what an index of a cell is drawn as. */
export function cellBlock(
  raster: HeatRaster,
  valueOf: (cell: number) => number | null,
  stateOf: (cell: number) => number | null,
  span: RowSpan = [0, raster.rows.length],
): CellBlock {
  const { ends, source } = evenColumns(raster)
  const width = raster.columnEnds.length
  const count = Math.max(0, span[1] - span[0])
  const [values, states]: [CellBlock['values'], CellBlock['states']] = [[], []]
  let anyState = false
  // A day holds more than a million cells: one pass, without a function or an array for each of them.
  for (let row = span[0]; row < span[0] + count; row += 1) {
    const [value, state] = [new Array<number | null>(ends.length), new Array<number | null>(ends.length)]
    for (let place = 0; place < ends.length; place += 1) {
      const column = source[place] ?? null
      value[place] = column === null ? null : valueOf(row * width + column)
      const found = column === null ? null : stateOf(row * width + column)
      state[place] = found
      anyState ||= found !== null
    }
    values.push(value)
    states.push(state)
  }
  return {
    x: ends.map((end) => plotTime(end - raster.columnSeconds / 2)),
    y: Array.from({ length: count }, (_, index) => (span[0] + index + 0.5) * raster.rowsPerCell),
    values,
    states,
    anyState,
    known: source.map((column) => (column === null ? null : (raster.knownShare[column] ?? null))),
  }
}

/** What each code is drawn as: its activity, or the place of not resident, unsampled and idle among the states. */
const valueOfCode = Array.from({ length: 256 }, (_, code) => (code > 0 && code <= cellMaximum ? code : null))
const stateOfCode = Array.from({ length: 256 }, (_, code) => {
  const place = [cellNotResident, cellUnsampled, 0].indexOf(code)
  return place < 0 ? null : place
})

/** The cells of a grid: codes of activity, and idle, unsampled and not resident ones apart. */
export function activityBlock(grid: HeatGrid, span?: RowSpan): CellBlock {
  const codeAt = (cell: number): number => grid.cells[cell] ?? cellNotCollected
  return cellBlock(
    grid,
    (cell) => valueOfCode[codeAt(cell)] ?? null,
    (cell) => stateOfCode[codeAt(cell)] ?? null,
    span,
  )
}

/** Steps of 1, 2 and 5 within the range, and its two ends, which stand for what lies beyond them, too. */
function colourTicks(grid: ActivityScale, range: ColourRange): { tickvals: number[]; ticktext: string[] } {
  const label = (code: number): string => formatActivity(grid.measure, cellActivity(grid, code) ?? grid.unit)
  const tickvals = [range.low, range.high]
  const ticktext = [
    `${range.cutsLow ? '≤ ' : ''}${label(Math.max(1, range.low))}`,
    `${range.cutsHigh ? '≥ ' : ''}${label(range.high)}`,
  ]
  const apart = (range.high - range.low) * 0.07
  const [bottom, top] = [range.low, range.high].map((code) => Math.log10(grid.base ** (code - 1) * grid.unit))
  for (let power = Math.floor(bottom ?? 0); power <= (top ?? 0); power += 1) {
    for (const step of [1, 2, 5]) {
      const code = activityCode(grid, step * 10 ** power)
      if (code < range.low || code > range.high || tickvals.some((known) => Math.abs(known - code) < apart)) continue
      tickvals.push(code)
      ticktext.push(formatActivity(grid.measure, step * 10 ** power))
    }
  }
  return { tickvals, ticktext }
}

/** A colour bar with a title along it. */
export function colourBar(
  theme: ChartTheme,
  title: string,
  ticks: { tickvals: number[]; ticktext: string[] },
): Partial<ColorBar> {
  return {
    title: { text: plotText(title), side: 'right', font: { size: 11 } },
    thickness: 8,
    outlinewidth: 0,
    len: 0.94,
    y: 0.47,
    xpad: 8,
    tickfont: { size: 11, color: theme.dimmed },
    ...ticks,
  }
}

/** States of cells, each in a colour, and the strip of coverage over the columns. */
export function stateLayers(block: CellBlock, colours: string[], theme: ChartTheme): Data[] {
  const common = { type: 'heatmap' as const, x: block.x, showscale: false, hoverinfo: 'skip' as const }
  const strip: Data = {
    ...common,
    y: [0],
    z: [block.known],
    yaxis: 'y2',
    zmin: 0,
    zmax: 1,
    colorscale: [
      [0, theme.absent],
      [1, theme.dimmed],
    ],
  }
  if (!block.anyState) return [strip]
  const top = Math.max(1, colours.length - 1)
  const states: Data = {
    ...common,
    y: block.y,
    z: block.states,
    zmin: 0,
    zmax: top,
    colorscale: colours.map((colour, index): [number, string] => [index / top, colour]),
  }
  return [states, strip]
}

/**
 * Activity as Plotly traces. The block depends on the grid alone, not on the view: kept by the caller, it lets Plotly
 * see that a pan or zoom changed no data.
 */
export function activityLayers(
  block: CellBlock,
  grid: ActivityScale,
  range: ColourRange,
  theme: ChartTheme,
  bar = true,
): Data[] {
  const activity: Data = {
    type: 'heatmap',
    x: block.x,
    y: block.y,
    z: block.values,
    hoverongaps: true,
    zsmooth: false,
    zmin: range.low,
    zmax: range.high,
    colorscale: activityColours,
    hoverinfo: 'none',
    showscale: bar,
    colorbar: colourBar(theme, measureTitle(grid.measure), colourTicks(grid, range)),
  }
  return [activity, ...stateLayers(block, [theme.notResident, theme.unsampled, idleColour], theme)]
}

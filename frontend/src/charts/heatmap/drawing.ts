import type { Data } from 'plotly.js'
import type { ColourRange } from '../../lib/heat/colourRange'
import {
  cellActivity,
  cellNotCollected,
  cellState,
  formatActivity,
  measureLabel,
  type HeatGrid,
  type HeatRaster,
} from '../../lib/heat/heatGrid'
import { activityColours, idleColour, type ChartTheme } from '../../lib/palette'
import { formatUtc } from '../../lib/units/time'
import type { LegendItem } from '../../ui/layout/Legend'
import type { ChartFigure } from '../chartFigure'
import { activityLayers, type CellBlock, type RowSpan } from './layers'

/** What a heatmap shows over the rows and columns of a raster. */
export interface HeatmapDrawing {
  raster: HeatRaster
  layers: Data[]
  legend: LegendItem[]
  /** The colour of a selection's outline. */
  outline: string
  /** What a cell says, the most important first; `column` is null where nothing was collected. */
  read: (row: number, column: number | null) => string[]
  /** Rows [first, last) as a table, spelled out only when someone asks for it. */
  table: () => ChartFigure['table']
}

/** A table of cells: a line per row, a column per interval. */
export function cellTable(
  raster: HeatRaster,
  valueOf: (cell: number) => number | string | null,
  span: RowSpan = [0, raster.rows.length],
): ChartFigure['table'] {
  const width = raster.columnEnds.length
  return {
    columns: [
      'kind',
      'mapping',
      'offset (B)',
      'size (B)',
      ...raster.columnEnds.map((end) => formatUtc(new Date(end * 1000))),
    ],
    rows: raster.rows
      .slice(...span)
      .map((row, index) => [
        row.kind,
        row.mapping,
        row.offsetBytes,
        row.sizeBytes,
        ...raster.columnEnds.map((_, column) => valueOf((span[0] + index) * width + column)),
      ]),
  }
}

/** Activity in words: `34 % active share of bytes per interval`, or why there is none. */
export function activityText(grid: HeatGrid, code: number): string {
  const activity = cellActivity(grid, code)
  if (activity === null || code === 0) return cellState(code)
  return `${formatActivity(grid.measure, activity)} ${measureLabel(grid.measure)}`
}

/** What the colours of activity mean. */
export function activityLegend(theme: ChartTheme): LegendItem[] {
  return [
    { label: 'idle', colour: idleColour },
    { label: 'active', colour: activityColours[4]?.[1] ?? '#f98e09' },
    { label: 'unsampled', colour: theme.unsampled },
    { label: 'not resident', colour: theme.notResident },
    { label: 'not collected', hatched: true },
  ]
}

/** The activity of a grid, in one colour scale. */
export function activityDrawing(
  grid: HeatGrid,
  block: CellBlock,
  range: ColourRange,
  theme: ChartTheme,
  { bar, span }: { bar: boolean; span?: RowSpan | undefined },
): HeatmapDrawing {
  const codeAt = (cell: number): number => grid.cells[cell] ?? cellNotCollected
  return {
    raster: grid,
    layers: activityLayers(block, grid, range, theme, bar),
    legend: activityLegend(theme),
    outline: '#ffffff',
    read: (row, column) => [
      activityText(grid, column === null ? cellNotCollected : codeAt(row * grid.columnEnds.length + column)),
    ],
    table: () => cellTable(grid, (cell) => cellActivity(grid, codeAt(cell)) ?? cellState(codeAt(cell)), span),
  }
}

import type { Data } from 'plotly.js'
import type { ComparisonWords } from '../../lib/comparison'
import {
  compared,
  differenceStates,
  notCollected,
  notResident,
  notSampled,
  onlyNow,
  onlyThen,
  sideKnown,
  sideNotCollected,
  sideStates,
  type HeatDifference,
  type Side,
} from '../../lib/heat/difference'
import { changeNumber, changeTitle, formatActivity, formatChange, measureLabel } from '../../lib/heat/heatGrid'
import { changeColours, oneSideColours, type ChartTheme } from '../../lib/palette'
import type { LegendItem } from '../../ui/layout/Legend'
import { changeLegend } from '../changeLegend'
import { cellTable, type HeatmapDrawing } from './drawing'
import { cellBlock, colourBar, stateLayers, type CellBlock, type RowSpan } from './layers'

/** The states that are drawn in a colour of their own, in the order of their colours. */
const drawnStates = [notResident, notSampled, onlyNow, onlyThen]

/** The cells of a difference: changes, and the states of those without one apart. */
export function changeBlock(difference: HeatDifference, span?: RowSpan): CellBlock {
  const places = new Map(drawnStates.map((state, place) => [state, place]))
  return cellBlock(
    difference.raster,
    (cell) => {
      const change = difference.change[cell] ?? NaN
      return Number.isNaN(change) ? null : change
    },
    (cell) => places.get(difference.state[cell] ?? notCollected) ?? null,
    span,
  )
}

/** What a state is called where the sides are called as in `words`. */
function stateWords(state: number, words: ComparisonWords): string {
  if (state === onlyNow) return `only ${words.now}`
  if (state === onlyThen) return `only ${words.then}`
  return state === notSampled ? 'unsampled on a side' : (differenceStates[state] ?? 'not collected')
}

function sideWords(side: Side, cell: number, measure: string): string {
  const state = side.state[cell] ?? sideNotCollected
  if (state !== sideKnown) return sideStates[state] ?? 'not collected'
  const activity = side.activity[cell] ?? 0
  return activity === 0 ? 'idle' : formatActivity(measure, activity)
}

function changeLayer(block: CellBlock, measure: string, limit: number, theme: ChartTheme, bar: boolean): Data {
  const tickvals = [-1, -0.5, 0, 0.5, 1].map((share) => share * limit)
  const ends = ['≤ ', '', '', '', '≥ ']
  const ticktext = tickvals.map((change, index) => `${ends[index] ?? ''}${changeNumber(measure, change)}`)
  return {
    type: 'heatmap',
    x: block.x,
    y: block.y,
    z: block.values,
    hoverongaps: true,
    zsmooth: false,
    zmin: -limit,
    zmax: limit,
    colorscale: changeColours[theme.name],
    hoverinfo: 'none',
    showscale: bar,
    colorbar: colourBar(theme, changeTitle(measure), { tickvals, ticktext }),
  }
}

/** What the colours of changes and of cells without one mean. */
export function cellLegend(theme: ChartTheme, words: ComparisonWords): LegendItem[] {
  return [
    ...changeLegend(theme),
    { label: stateWords(onlyNow, words), colour: oneSideColours.now },
    { label: stateWords(onlyThen, words), colour: oneSideColours.then },
    { label: stateWords(notSampled, words), colour: theme.unsampled },
    { label: 'not resident', colour: theme.notResident },
    { label: 'not collected', hatched: true },
  ]
}

/** Activity now minus activity then, on a scale that is the same both ways; `limit` is its end, in the measure. */
export function changeDrawing(
  difference: HeatDifference,
  block: CellBlock,
  limit: number,
  theme: ChartTheme,
  { bar, span, words }: { bar: boolean; span?: RowSpan | undefined; words: ComparisonWords },
): HeatmapDrawing {
  const { raster, measure, now, then, change, state } = difference
  const stateColours = [theme.notResident, theme.unsampled, oneSideColours.now, oneSideColours.then]
  return {
    raster,
    layers: [changeLayer(block, measure, limit, theme, bar), ...stateLayers(block, stateColours, theme)],
    legend: cellLegend(theme, words),
    outline: theme.text,
    read: (row, column) => {
      if (column === null) return ['not collected']
      const cell = row * raster.columnEnds.length + column
      const at = state[cell] ?? notCollected
      return [
        at === compared ? formatChange(measure, change[cell] ?? 0) : stateWords(at, words),
        `${sideWords(then, cell, measure)} ${words.then}, ${sideWords(now, cell, measure)} ${words.now} (${measureLabel(measure)})`,
      ]
    },
    table: () =>
      cellTable(
        raster,
        (cell) => (state[cell] === compared ? (change[cell] ?? null) : stateWords(state[cell] ?? notCollected, words)),
        span,
      ),
  }
}

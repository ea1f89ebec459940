import type { Data } from 'plotly.js'
import type { SweepCell, SweepResults } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { ratioName, settingsText } from '../../lib/simulate'
import { plotText } from '../../lib/text/escape'
import { formatRatio } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { lossAxis } from '../lossAxis'

type Shown = Pick<SweepResults, 'cells' | 'frontier'>

/** Markers by policy, so that colour is never alone. */
const symbols = ['circle', 'square', 'diamond', 'cross', 'triangle-up', 'triangle-down', 'pentagon', 'star'] as const

/** The sign of the n-th policy; where colours begin again, signs are shifted, so that no pair comes twice. */
function symbolOf(index: number): (typeof symbols)[number] {
  return symbols[(index + 3 * Math.floor(index / symbols.length)) % symbols.length] ?? 'circle'
}

interface PricedCell extends SweepCell {
  cost_ratio: number
}

/** The cells that have both a cost and a loss; all others cannot be placed. */
export function pricedCells(cells: SweepCell[]): PricedCell[] {
  return cells.filter((cell): cell is PricedCell => cell.cost_ratio !== null && cell.loss.value !== null)
}

/** The policies of the chart in the order of the sweep, each with its colour and label. */
export function frontierPolicies(cells: SweepCell[]): { policy: string; label: string; colour: string }[] {
  const labels = new Map(pricedCells(cells).map((cell) => [cell.policy, cell.label]))
  return [...labels].map(([policy, label], index) => ({ policy, label, colour: seriesColour(index) }))
}

function hoverText(cell: PricedCell): string {
  const interval = cell.loss.interval
  const bounds = interval === null ? '' : ` (${formatRatio(interval.lo)} – ${formatRatio(interval.hi)})`
  const settings = settingsText(cell.settings)
  return [
    `<b>${plotText(cell.label)}</b> at ${ratioName(cell.dram_ratio)}`,
    `memory at ${formatRatio(cell.cost_ratio)} of the price of all DRAM`,
    `loss ${formatRatio(cell.loss.value ?? 0)}${bounds}`,
    ...(settings === '' ? [] : [plotText(settings)]),
  ].join('<br>')
}

/** Loss over the price of memory: one point for each run, and the line of those that nothing beats on both. */
export function frontierFigure(results: Shown, theme: ChartTheme, chosenRun: string | undefined): ChartFigure {
  const cells = pricedCells(results.cells)
  const best = new Set(results.frontier.map((point) => point.run_id))
  const line = [...results.frontier].sort((a, b) => a.cost_ratio - b.cost_ratio)
  const points = frontierPolicies(results.cells).map(({ policy, label, colour }, index): Data => {
    const own = cells.filter((cell) => cell.policy === policy)
    return {
      type: 'scatter',
      mode: 'markers',
      name: plotText(label),
      x: own.map((cell) => cell.cost_ratio * 100),
      y: own.map((cell) => (cell.loss.value ?? 0) * 100),
      customdata: own.map(hoverText),
      ids: own.map((cell) => cell.run_id),
      hovertemplate: '%{customdata}<extra></extra>',
      marker: {
        color: colour,
        symbol: symbolOf(index),
        size: own.map((cell) => (cell.run_id === chosenRun ? 15 : best.has(cell.run_id) ? 10 : 7)),
        opacity: own.map((cell) => (best.has(cell.run_id) || cell.run_id === chosenRun ? 1 : 0.6)),
        line: { color: theme.text, width: own.map((cell) => (cell.run_id === chosenRun ? 2 : 0)) },
      },
    }
  })
  return {
    data: [
      {
        type: 'scatter',
        mode: 'lines',
        name: 'frontier',
        x: line.map((point) => point.cost_ratio * 100),
        y: line.map((point) => point.loss * 100),
        hoverinfo: 'skip',
        line: { color: theme.dimmed, width: 1.5, shape: 'hv' },
      },
      ...points,
    ],
    layout: {
      ...baseLayout(theme),
      hovermode: 'closest',
      dragmode: false,
      margin: { l: 56, r: 20, t: 10, b: 46, pad: 0 },
      xaxis: titledAxis(theme, 'price of memory, % of all DRAM'),
      yaxis: lossAxis(theme),
    },
    table: {
      columns: [
        'policy',
        'DRAM (ratio of memory)',
        'price (ratio of all DRAM)',
        'loss (ratio)',
        'on the frontier',
        'settings',
      ],
      rows: cells.map((cell) => [
        cell.label,
        cell.dram_ratio,
        cell.cost_ratio,
        cell.loss.value,
        best.has(cell.run_id) ? 'yes' : 'no',
        settingsText(cell.settings),
      ]),
    },
  }
}

/** The run whose point stands at these coordinates of the chart, in per cent; null where there is none. */
export function runAt(cells: SweepCell[], x: unknown, y: unknown): string | null {
  const found = pricedCells(cells).find((cell) => cell.cost_ratio * 100 === x && (cell.loss.value ?? 0) * 100 === y)
  return found?.run_id ?? null
}

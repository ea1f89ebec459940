import type { ExperimentPlan } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { formatCount, formatRatio } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { verticalLine } from '../verticalLine'

type Shown = Pick<ExperimentPlan, 'points' | 'effect_ratio'>

/** The smallest effect that so many hosts per arm can find; the wanted effect and the chosen arm as lines. */
export function powerFigure(plan: Shown, theme: ChartTheme, canary: number): ChartFigure {
  const x = plan.points.map((point) => point.hosts_per_arm)
  const y = plan.points.map((point) => point.detectable_effect_ratio * 100)
  const line = { color: theme.beyond, width: 1.5, dash: 'dash' as const }
  const chosen = Number.isFinite(canary) && canary >= 2
  return {
    data: [
      {
        type: 'scatter',
        mode: 'lines+markers',
        name: 'smallest detectable effect',
        x,
        y,
        customdata: plan.points.map(
          (point) => `${formatCount(point.hosts_per_arm)} hosts an arm: ${formatRatio(point.detectable_effect_ratio)}`,
        ),
        hovertemplate: '%{customdata}<extra></extra>',
        line: { color: seriesColour(0), width: 2 },
        marker: { size: 5, color: seriesColour(0) },
      },
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 56, r: 16, t: 10, b: 46, pad: 0 },
      dragmode: false,
      xaxis: titledAxis(theme, 'hosts per arm', {
        type: 'log',
        dtick: 'D2',
        showgrid: false,
      }),
      yaxis: titledAxis(theme, 'smallest detectable effect, %', {
        rangemode: 'tozero',
        nticks: 6,
      }),
      shapes: [
        {
          type: 'line',
          xref: 'paper',
          yref: 'y',
          x0: 0,
          x1: 1,
          y0: plan.effect_ratio * 100,
          y1: plan.effect_ratio * 100,
          line,
        },
        ...(chosen ? [verticalLine(canary, line)] : []),
      ],
    },
    table: {
      columns: ['Hosts per arm', 'Smallest detectable effect (ratio)'],
      rows: plan.points.map((point) => [point.hosts_per_arm, point.detectable_effect_ratio]),
    },
  }
}

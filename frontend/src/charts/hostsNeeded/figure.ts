import type { Data } from 'plotly.js'
import { costColours, tierColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatCount } from '../../lib/units/units'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** Hosts that a quarter needs: all memory in DRAM, and with slow tiers; null where some demand fits no host. */
export interface NeededHosts {
  quarter: string
  hosts_without_tiering: number | null
  hosts_with_tiering: number | null
}

/** Colours of both plans: with tiering in that of CXL. */
export const planColours = { without: costColours.total, with: tierColour('cxl') } as const

/** Hosts needed per quarter, without and with tiering side by side. */
export function hostsNeededFigure(quarters: NeededHosts[], theme: ChartTheme): ChartFigure {
  const x = quarters.map(({ quarter }) => plotText(quarter))
  const bars = (name: string, values: (number | null)[], colour: string): Data => ({
    type: 'bar',
    name,
    x,
    y: values,
    text: values.map((value) => (value === null ? '' : formatCount(value))),
    textposition: 'outside',
    textfont: { size: 11, color: theme.text },
    cliponaxis: false,
    customdata: values.map((value) => `${formatCount(value ?? 0)} hosts ${name}`),
    hovertemplate: '%{x}: %{customdata}<extra></extra>',
    marker: { color: colour, line: { width: 0 } },
  })
  const [without, withTiers] = [
    quarters.map((quarter) => quarter.hosts_without_tiering),
    quarters.map((quarter) => quarter.hosts_with_tiering),
  ]
  return {
    data: [bars('without tiering', without, planColours.without), bars('with tiering', withTiers, planColours.with)],
    layout: {
      ...baseLayout(theme),
      margin: { l: 52, r: 16, t: 20, b: 40, pad: 0 },
      barmode: 'group',
      bargap: 0.35,
      bargroupgap: 0.08,
      hovermode: 'closest',
      dragmode: false,
      xaxis: { ...axis(theme), type: 'category', fixedrange: true, showgrid: false },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        rangemode: 'tozero',
        // There are no half hosts.
        ...(Math.max(0, ...without.map(Number), ...withTiers.map(Number)) < 5 ? { dtick: 1 } : { nticks: 5 }),
        title: { text: 'hosts', font: { size: 11 }, standoff: 6 },
      },
    },
    table: {
      columns: ['quarter', 'hosts without tiering', 'hosts with tiering'],
      rows: quarters.map((quarter, index) => [quarter.quarter, without[index] ?? null, withTiers[index] ?? null]),
    },
  }
}

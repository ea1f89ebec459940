import type { Data } from 'plotly.js'
import { costColours, tierColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatCount } from '../../lib/units/units'
import { axis, baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** Hosts that a quarter needs: all memory in DRAM, with slow tiers, with swap too; null where some demand fits no host. */
export interface NeededHosts {
  quarter: string
  hosts_without_tiering: number | null
  hosts_with_tiering: number | null
  hosts_with_swap: number | null
}

export const planColours = { without: costColours.total, with: tierColour('cxl'), swap: tierColour('swap') } as const

/** Whether any quarter was planned with swap. */
export function hasSwap(quarters: NeededHosts[]): boolean {
  return quarters.some(({ hosts_with_swap: hosts }) => hosts !== null)
}

/** Hosts needed per quarter, without and with tiering, and with swap where it was planned, side by side. */
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
  const plans = [
    { name: 'without tiering', hosts: quarters.map((one) => one.hosts_without_tiering), colour: planColours.without },
    { name: 'with tiering', hosts: quarters.map((one) => one.hosts_with_tiering), colour: planColours.with },
    ...(hasSwap(quarters)
      ? [{ name: 'with swap too', hosts: quarters.map((one) => one.hosts_with_swap), colour: planColours.swap }]
      : []),
  ]
  return {
    data: plans.map(({ name, hosts, colour }) => bars(name, hosts, colour)),
    layout: {
      ...baseLayout(theme),
      margin: { l: 52, r: 16, t: 20, b: 40, pad: 0 },
      barmode: 'group',
      bargap: 0.35,
      bargroupgap: 0.08,
      hovermode: 'closest',
      dragmode: false,
      xaxis: { ...axis(theme), type: 'category', fixedrange: true, showgrid: false },
      yaxis: titledAxis(theme, 'hosts', {
        rangemode: 'tozero',
        // There are no half hosts.
        ...(Math.max(0, ...plans.flatMap(({ hosts }) => hosts.map(Number))) < 5 ? { dtick: 1 } : { nticks: 5 }),
      }),
    },
    table: {
      columns: ['quarter', ...plans.map(({ name }) => `hosts ${name}`)],
      rows: quarters.map(({ quarter }, index) => [quarter, ...plans.map(({ hosts }) => hosts[index] ?? null)]),
    },
  }
}

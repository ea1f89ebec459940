import type { TierFlow } from '../../api/_generated/schema'
import { moveColours, tierColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { methodName, nothingText } from '../../lib/units/figure'
import { formatQuantity } from '../../lib/units/units'
import { baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

type Key = keyof TierFlow

interface Flow {
  key: Key
  /** What DAMON moves the same way, which `key` does not hold. */
  damon?: Key
  name: string
  from: string
  to: string
  /** Arrows to faster memory stand left of the middle and point up. */
  up: boolean
  /** From the lower to the upper box, per cent of the height. */
  span: [number, number]
  colour: string
}

const slow = 'slower tiers'
const memory = 'DRAM or slower tiers'

const flows: Flow[] = [
  {
    key: 'promotion_bytes_per_s',
    damon: 'damon_promotion_bytes_per_s',
    name: 'promoted',
    from: slow,
    to: 'DRAM',
    up: true,
    span: [59, 84],
    colour: moveColours.promotion,
  },
  {
    key: 'demotion_bytes_per_s',
    damon: 'damon_demotion_bytes_per_s',
    name: 'demoted',
    from: 'DRAM',
    to: slow,
    up: false,
    span: [59, 84],
    colour: moveColours.demotion,
  },
  {
    key: 'swap_in_bytes_per_s',
    name: 'swapped in',
    from: 'swap',
    to: memory,
    up: true,
    span: [14, 38],
    colour: tierColour('swap'),
  },
  {
    key: 'swap_out_bytes_per_s',
    name: 'swapped out',
    from: memory,
    to: 'swap',
    up: false,
    span: [14, 38],
    colour: tierColour('swap'),
  },
]

/** Width of the widest arrow, as a share of the plot's. */
const widest = 0.1
const narrowest = 0.008
const middle = { up: 0.42, down: 0.58 }

/** Whether any of the rates is known. */
export function hasFlow(flow: TierFlow): boolean {
  return flows.some(({ key, damon = key }) => flow[key].status === 'ok' || flow[damon].status === 'ok')
}

/** What moves one way, by DAMON too; null where nobody counts it. */
function wholeRate({ key, damon }: Flow, flow: TierFlow): number | null {
  const known = [flow[key].value, damon === undefined ? null : flow[damon].value].filter((rate) => rate !== null)
  return known.length === 0 ? null : known.reduce((sum, rate) => sum + rate, 0)
}

/**
 * DRAM, slower tiers and swap as boxes above each other, and between them an arrow for each direction, as wide as its
 * rate. Swap stands below both tiers together: the kernel does not count which of them swapped pages left.
 */
export function tierFlowFigure(flow: TierFlow, hosts: number, theme: ChartTheme): ChartFigure {
  const most = Math.max(0, ...flows.map((one) => wholeRate(one, flow) ?? 0))
  return {
    data: [
      {
        type: 'scatter',
        mode: 'markers',
        x: flows.map(({ up }) => (up ? middle.up : middle.down)),
        y: flows.map(({ span: [low, high] }) => (low + high) / 2),
        customdata: flows.map((one) => hoverText(one, flow, hosts)),
        hovertemplate: '%{customdata}<extra></extra>',
        marker: { size: 36, opacity: 0, color: flows.map(({ colour }) => colour) },
      },
    ],
    layout: {
      ...baseLayout(theme),
      hovermode: 'closest',
      dragmode: false,
      margin: { l: 8, r: 8, t: 4, b: 4, pad: 0 },
      xaxis: { visible: false, fixedrange: true, range: [0, 1] },
      yaxis: { visible: false, fixedrange: true, range: [0, 100] },
      shapes: [
        { type: 'rect', x0: 0.02, x1: 0.98, y0: 39, y1: 99.5, line: { color: theme.line, width: 1, dash: 'dot' } },
        ...(
          [
            ['dram', 85, 97],
            ['cxl', 46, 58],
            ['swap', 1, 13],
          ] as const
        ).map(([tier, y0, y1]) => ({
          type: 'rect' as const,
          x0: 0.06,
          x1: 0.94,
          y0,
          y1,
          fillcolor: theme.absent,
          line: { color: tierColour(tier), width: 2 },
        })),
        ...flows.map((one) => arrowOf(one, wholeRate(one, flow), most, theme)),
      ],
      annotations: [
        { text: 'DRAM', y: 91 },
        { text: 'Slower tiers (CXL, PMEM)', y: 52 },
        { text: 'Swap, zswap included', y: 7 },
      ]
        .map(({ text, y }) => ({
          text,
          x: 0.5,
          y,
          yanchor: 'middle' as const,
          showarrow: false,
          font: { size: 12, color: theme.text },
        }))
        .concat(flows.map((one) => labelOf(one, flow, hosts, theme))),
    },
    table: {
      columns: ['flow', 'from', 'to', 'rate (B/s)', 'hosts', 'of hosts', 'without a rate because'],
      rows: flows.flatMap(({ key, damon, name, from, to }) =>
        [{ key, name }, ...(damon === undefined ? [] : [{ key: damon, name: `${name} by DAMON` }])].map((row) => {
          const { value, n_hosts, reason } = flow[row.key]
          return [row.name, from, to, value, value === null ? 0 : n_hosts, hosts, reason]
        }),
      ),
    },
  }
}

/** An arrow as wide as its rate; a thin dashed line where nothing moves, a dotted one where nobody counts it. */
function arrowOf(one: Flow, rate: number | null, most: number, theme: ChartTheme) {
  const x = one.up ? middle.up : middle.down
  const [low, high] = one.span
  const [tail, tip] = one.up ? [low, high] : [high, low]
  if (rate === null || rate === 0) {
    const dash = rate === null ? ('dot' as const) : ('dash' as const)
    return { type: 'line' as const, x0: x, x1: x, y0: tail, y1: tip, line: { color: theme.line, width: 2, dash } }
  }
  const half = Math.max((rate / most) * widest, narrowest) / 2
  const head = half + 0.014
  const neck = tip + (one.up ? -7 : 7)
  const corners = [
    [x - half, tail],
    [x - half, neck],
    [x - head, neck],
    [x, tip],
    [x + head, neck],
    [x + half, neck],
    [x + half, tail],
  ]
  const path = `M ${corners.map(([at, height]) => `${at} ${height}`).join(' L ')} Z`
  return { type: 'path' as const, path, fillcolor: one.colour, line: { color: theme.dimmed, width: 1 } }
}

/** The rate in words, and how many hosts count it. */
function labelOf(one: Flow, flow: TierFlow, hosts: number, theme: ChartTheme) {
  const { value, n_hosts } = flow[one.key]
  const rate = rateText(one.key, flow)
  const damon = one.damon !== undefined && flow[one.damon].value !== null ? `<br>${damonText(one.damon, flow)}` : ''
  const of = value === null ? damon : `<br>${n_hosts ?? 0} of ${hosts} hosts${damon}`
  return {
    text: `${one.up ? '↑' : '↓'} ${one.name}<br><b>${rate}</b>${of}`,
    x: one.up ? middle.up - widest / 2 - 0.03 : middle.down + widest / 2 + 0.03,
    y: (one.span[0] + one.span[1]) / 2,
    xanchor: one.up ? ('right' as const) : ('left' as const),
    yanchor: 'middle' as const,
    align: one.up ? ('right' as const) : ('left' as const),
    showarrow: false,
    font: { size: 12, color: theme.text },
  }
}

function damonText(key: Key, flow: TierFlow): string {
  return `DAMON ${rateText(key, flow)}`
}

function rateText(key: Key, flow: TierFlow): string {
  const { value, status, unit } = flow[key]
  if (value !== null) return formatQuantity(value, unit)
  return status === 'not_supported' ? 'not counted' : nothingText[status === 'ok' ? 'not_collected' : status]
}

function hoverText(one: Flow, flow: TierFlow, hosts: number): string {
  const { value, n_hosts, method, reason } = flow[one.key]
  return [
    `<b>${one.name}</b>: ${one.from} to ${one.to}`,
    rateText(one.key, flow),
    value === null ? plotText(reason ?? '') : `${methodName(method)}, ${n_hosts ?? 0} of ${hosts} hosts`,
    ...(one.damon === undefined ? [] : [damonText(one.damon, flow)]),
  ].join('<br>')
}

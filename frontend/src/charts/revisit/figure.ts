import type { Data } from 'plotly.js'
import type { Revisit, RevisitCurve } from '../../api/_generated/schema'
import { kindColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatBytes, formatRatio, scaleFor } from '../../lib/units/units'
import { bandBetween, baseLayout, hatched, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, valuesAt, type Beside } from '../ghost'

/** Below this share of the memory that was watched at first, a curve stands on little and is dashed. */
const thinShare = 0.05

/** How many points of a curve stand on enough memory; the rest up to `last_known_lag` is thin, and then nothing is known. */
export function solidPoints(curve: Pick<RevisitCurve, 'at_risk_bytes' | 'last_known_lag'>): number {
  const first = curve.at_risk_bytes[0] ?? 0
  const thin = curve.at_risk_bytes.findIndex((bytes) => bytes < first * thinShare)
  return Math.min(curve.last_known_lag, thin < 0 ? curve.at_risk_bytes.length : thin)
}

type Shown = Pick<Revisit, 'lags' | 'interval_seconds' | 'curves'>

interface Lags {
  values: number[]
  unit: string
}

function lagsOf(revisit: Shown): Lags {
  const seconds = revisit.interval_seconds
  if (seconds === null) return { values: revisit.lags, unit: 'intervals' }
  const last = (revisit.lags.at(-1) ?? 0) * seconds
  return last < 180
    ? { values: revisit.lags.map((lag) => lag * seconds), unit: 'seconds' }
    : { values: revisit.lags.map((lag) => (lag * seconds) / 60), unit: 'minutes' }
}

/** The lags of the other side in this side's unit, so that both stand on one axis. */
function lagsBeside(other: Shown, unit: string): number[] {
  const seconds = other.interval_seconds
  if (unit === 'intervals' || seconds === null) return other.lags
  return other.lags.map((lag) => (lag * seconds) / (unit === 'seconds' ? 1 : 60))
}

/** The other side's curve of a kind, on the chart's axis. */
interface Other {
  label: string
  x: number[]
  curve: RevisitCurve
}

function otherOf(beside: Beside<Shown> | null, kind: string, unit: string): Other | null {
  const curve = beside?.answer?.curves.find((candidate) => candidate.kind === kind)
  if (beside === null || beside.answer === null || curve === undefined) return null
  return { label: beside.label, x: lagsBeside(beside.answer, unit), curve }
}

function otherTraces(other: Other | null): Data[] {
  if (other === null) return []
  const known = other.curve.last_known_lag
  return [
    {
      type: 'scatter',
      mode: 'lines',
      name: plotText(`${other.curve.kind}, ${other.label}`),
      x: other.x.slice(0, known),
      y: percent(other.curve.share.slice(0, known)),
      customdata: hoverTexts(other.curve).slice(0, known),
      hovertemplate: '%{customdata}',
      connectgaps: false,
      opacity: besideOpacity,
      line: { color: kindColour(other.curve.kind), width: 1.8, dash: 'dash' },
    },
  ]
}

/** The other side's share at each lag of this side that it has, too. */
function otherColumn(other: Other | null, x: number[]): { label: string; values: (number | null)[] }[] {
  if (other === null) return []
  return [
    {
      label: `${other.curve.kind}, ${other.label} (ratio)`,
      values: valuesAt(x, { places: other.x, values: other.curve.share }),
    },
  ]
}

const percent = (values: (number | null)[]) => values.map((value) => (value === null ? null : value * 100))

function hoverTexts(curve: RevisitCurve): string[] {
  return curve.share.map((share, index) => {
    if (share === null) return ''
    const [lo, hi] = [curve.lo[index] ?? null, curve.hi[index] ?? null]
    const band = lo === null || hi === null ? '' : ` (95 %: ${formatRatio(lo)} – ${formatRatio(hi)})`
    return `${formatRatio(share)}${band}, ${formatBytes(curve.at_risk_bytes[index] ?? 0)} at risk`
  })
}

function bandOf(curve: RevisitCurve, x: number[], colour: string): Data[] {
  const known = x.flatMap((lag, index) => {
    const [lo, hi] = [curve.lo[index] ?? null, curve.hi[index] ?? null]
    return lo === null || hi === null ? [] : [{ x: lag, lo: lo * 100, hi: hi * 100 }]
  })
  return bandBetween(known, colour)
}

/** One curve in two pieces that meet: solid where enough memory was watched, dashed behind that. */
function pieces(curve: RevisitCurve, x: number[], isChosen: boolean): Data[] {
  const solid = solidPoints(curve)
  const colour = kindColour(curve.kind)
  const texts = hoverTexts(curve)
  const draw = (from: number, to: number, dash: 'solid' | 'dot'): Data[] =>
    to - from < 1
      ? []
      : [
          {
            type: 'scatter',
            mode: dash === 'solid' && isChosen && to - from < 30 ? 'lines+markers' : 'lines',
            name: dash === 'solid' ? curve.kind : `${curve.kind}, few at risk`,
            x: x.slice(from, to),
            y: percent(curve.share.slice(from, to)),
            customdata: texts.slice(from, to),
            hovertemplate: '%{customdata}',
            connectgaps: false,
            line: { color: colour, width: isChosen ? 2.2 : 1.1, dash },
            marker: { size: 4, color: colour },
          },
        ]
  return [...draw(0, solid, 'solid'), ...draw(Math.max(0, solid - 1), curve.last_known_lag, 'dot')]
}

function unknownAfter(curve: RevisitCurve, x: number[], theme: ChartTheme): Data[] {
  const from = x[curve.last_known_lag - 1]
  const to = x.at(-1)
  if (from === undefined || to === undefined || curve.last_known_lag >= x.length) return []
  const step = x[0] ?? 1
  return [
    {
      type: 'bar',
      x: [(from + to + step) / 2],
      y: [100],
      width: to + step - from,
      hoverinfo: 'skip',
      marker: hatched(theme),
    },
  ]
}

/**
 * Share of idle memory accessed again within each lag. The chosen kind has its band over hosts; below it stands how
 * much memory stood in gaps still watched, each gap counted. Where little did, the line is dotted; where nothing did, the plot is hatched.
 * The other side's curve of the chosen kind is dashed.
 */
export function revisitFigure(
  revisit: Shown,
  chosen: RevisitCurve,
  idle: number,
  theme: ChartTheme,
  beside: Beside<Shown> | null = null,
): ChartFigure {
  const { values: x, unit } = lagsOf(revisit)
  const other = otherOf(beside, chosen.kind, unit)
  const otherShares = otherColumn(other, x)
  const others = revisit.curves.filter((curve) => curve.kind !== chosen.kind)
  const colour = kindColour(chosen.kind)
  const scale = scaleFor('bytes', Math.max(1, ...chosen.at_risk_bytes))
  const since = chosen.clock === 'last_access' ? 'since last access' : `since turning cold (${idle} idle intervals)`
  return {
    data: [
      ...unknownAfter(chosen, x, theme),
      ...bandOf(chosen, x, colour),
      ...others.flatMap((curve) => pieces(curve, x, false)),
      ...pieces(chosen, x, true),
      ...otherTraces(other),
      {
        type: 'bar',
        name: 'at risk',
        x,
        y: chosen.at_risk_bytes.map((bytes) => bytes / scale.divisor),
        xaxis: 'x',
        yaxis: 'y2',
        marker: { color: translucent(colour, 0.45), line: { width: 0 } },
        hovertemplate: `%{y:,.3~g} ${scale.unit}`,
      },
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 60, r: 16, t: 8, b: 46, pad: 0 },
      bargap: 0.1,
      barmode: 'overlay',
      dragmode: false,
      xaxis: titledAxis(theme, `${unit} ${since}`, {
        anchor: 'y2',
        range: [0, (x.at(-1) ?? 1) + (x[0] ?? 1)],
        showgrid: false,
        ticks: 'outside',
        ticklen: 4,
        hoverformat: '.3~g',
      }),
      yaxis: titledAxis(theme, '% re-accessed', {
        domain: [0.27, 1],
        range: [0, 100],
        tickvals: [0, 25, 50, 75, 100],
      }),
      yaxis2: titledAxis(theme, `${scale.unit} at risk`, {
        domain: [0, 0.2],
        rangemode: 'tozero',
        nticks: 3,
      }),
    },
    table: {
      columns: [
        `lag (intervals, ${since})`,
        `lag (${unit})`,
        ...revisit.curves.flatMap((curve) => [
          `${curve.kind}, re-accessed (ratio)`,
          `${curve.kind}, lower (ratio)`,
          `${curve.kind}, upper (ratio)`,
          `${curve.kind}, at risk (B)`,
        ]),
        ...otherShares.map(({ label }) => label),
      ],
      rows: revisit.lags.map((lag, index) => [
        lag,
        x[index] ?? null,
        ...revisit.curves.flatMap((curve) => [
          curve.share[index] ?? null,
          curve.lo[index] ?? null,
          curve.hi[index] ?? null,
          curve.at_risk_bytes[index] ?? null,
        ]),
        ...otherShares.map(({ values }) => values[index] ?? null),
      ]),
    },
  }
}

import type { Data, Layout } from 'plotly.js'
import { seriesColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatQuantity, scaleFor, type Scale } from '../../lib/units/units'
import { axis, baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { verticalLine } from '../verticalLine'

/** A day's value as it was measured; null where none was, with the reason where the forecast leaves it out. */
export interface PastDay {
  day: string
  value: number | null
  excluded: keyof typeof excludedWords | null
}

/** A day ahead with its intervals. */
export interface ComingDay {
  day: string
  median: number
  lo80: number
  hi80: number
  lo95: number
  hi95: number
}

/** A level that changed, and what happened then, where that is known. */
export interface LevelChange {
  at: string
  before: number | null
  after: number | null
  event: string | null
}

/** What a forecast is drawn from. Days are days of UTC, values are in `unit`. */
export interface ForecastDays {
  label: string
  unit: string
  history: PastDay[]
  forecast: ComingDay[]
  changes: LevelChange[]
  /** Where the subject counts as full; null where its capacity is not known. */
  threshold: number | null
}

/** Why a measured day is left out, in words. */
export const excludedWords = {
  change_point: 'before a change point',
  capacity_edit: 'before a capacity change',
  node_away: 'made while a node was away',
} as const

/** The colour of a forecast's line and bands. */
export const forecastColour = seriesColour(0)

/** Measured days, days left out as hollow points, the forecast with its 80 % and 95 % bands, threshold and changes. */
export function forecastFigure(days: ForecastDays, theme: ChartTheme): ChartFigure {
  const { history, forecast, unit } = days
  const highest = Math.max(0, ...history.map(({ value }) => value ?? 0), ...forecast.map(({ hi80 }) => hi80))
  const scale = scaleFor(unit, Math.max(highest, days.threshold ?? 0))
  return {
    data: [
      band(forecast, 'lo95', 'hi95', 0.14, scale),
      band(forecast, 'lo80', 'hi80', 0.24, scale),
      pastTrace(days, false, scale, theme),
      pastTrace(days, true, scale, theme),
      medianTrace(forecast, unit, scale),
    ],
    layout: {
      ...baseLayout(theme),
      ...linesOf(days, scale, theme),
      margin: { l: 64, r: 20, t: 22, b: 44, pad: 0 },
      hovermode: 'closest',
      dragmode: false,
      xaxis: {
        ...axis(theme),
        type: 'date',
        fixedrange: true,
        showgrid: false,
        hoverformat: '%d %b %Y',
        // Few days would get several ticks each, all of one name.
        ...(history.length + forecast.length < 10 ? { dtick: 86_400_000 } : {}),
        tickformatstops: [
          { dtickrange: [null, 86_400_000 * 27], value: '%d %b' },
          { dtickrange: [86_400_000 * 27, null], value: '%b %Y' },
        ],
        title: { text: 'day (UTC)', font: { size: 11 }, standoff: 4 },
      },
      yaxis: titledAxis(theme, plotText(scale.unit), {
        rangemode: 'tozero',
        nticks: 6,
      }),
    },
    table: tableOf(days),
  }
}

function band(forecast: ComingDay[], lo: 'lo80' | 'lo95', hi: 'hi80' | 'hi95', opacity: number, scale: Scale): Data {
  const x = forecast.map(({ day }) => day)
  return {
    type: 'scatter',
    mode: 'lines',
    x: [...x, ...[...x].reverse()],
    y: [...forecast.map((at) => at[hi]), ...forecast.map((at) => Math.max(0, at[lo])).reverse()].map(
      (value) => value / scale.divisor,
    ),
    fill: 'toself',
    fillcolor: translucent(forecastColour, opacity),
    line: { width: 0 },
    hoverinfo: 'skip',
  }
}

function pastTrace(days: ForecastDays, excluded: boolean, scale: Scale, theme: ChartTheme): Data {
  const shown = days.history.map(({ value, excluded: why }) => ((why !== null) === excluded ? value : null))
  return {
    type: 'scatter',
    mode: excluded ? 'markers' : 'lines+markers',
    name: excluded ? 'excluded' : 'measured',
    x: days.history.map(({ day }) => day),
    y: shown.map((value) => (value === null ? null : value / scale.divisor)),
    connectgaps: false,
    customdata: days.history.map(({ day, value, excluded: why }) => {
      const text = value === null ? 'no value' : formatQuantity(value, days.unit)
      return `${day}: ${text}${why === null ? '' : `<br>excluded: ${excludedWords[why]}`}`
    }),
    hovertemplate: '%{customdata}<extra></extra>',
    line: { color: theme.text, width: 1.4 },
    marker: {
      size: excluded ? 6 : 3.5,
      symbol: excluded ? 'x-thin' : 'circle',
      color: excluded ? theme.dimmed : theme.text,
      line: { width: excluded ? 1.2 : 0, color: theme.dimmed },
    },
  }
}

function medianTrace(forecast: ComingDay[], unit: string, scale: Scale): Data {
  const range = (lo: number, hi: number) => `${formatQuantity(Math.max(0, lo), unit)} – ${formatQuantity(hi, unit)}`
  return {
    type: 'scatter',
    mode: 'lines',
    name: 'forecast',
    x: forecast.map(({ day }) => day),
    y: forecast.map(({ median }) => median / scale.divisor),
    customdata: forecast.map(
      (at) =>
        `${at.day}: ${formatQuantity(at.median, unit)}<br>80 %: ${range(at.lo80, at.hi80)}<br>95 %: ${range(at.lo95, at.hi95)}`,
    ),
    hovertemplate: '%{customdata}<extra></extra>',
    line: { color: forecastColour, width: 2, dash: 'dash' },
  }
}

function linesOf(days: ForecastDays, scale: Scale, theme: ChartTheme): Pick<Layout, 'shapes' | 'annotations'> {
  const { threshold, unit } = days
  const level = threshold === null ? [] : [threshold / scale.divisor]
  return {
    shapes: [
      ...level.map((y) => ({
        type: 'line' as const,
        xref: 'paper' as const,
        yref: 'y' as const,
        x0: 0,
        x1: 1,
        y0: y,
        y1: y,
        line: { color: theme.beyond, width: 1.5, dash: 'dash' as const },
      })),
      ...days.changes.map(({ at }) => verticalLine(at, { color: theme.mark, width: 1, dash: 'dot' })),
    ],
    annotations: [
      ...level.map((y) => ({
        xref: 'paper' as const,
        yref: 'y' as const,
        x: 0,
        y,
        xanchor: 'left' as const,
        yanchor: 'bottom' as const,
        showarrow: false,
        text: `full at ${formatQuantity(threshold ?? 0, unit)}`,
        font: { size: 11, color: theme.beyond },
      })),
      ...days.changes.map((change) => ({
        xref: 'x' as const,
        yref: 'paper' as const,
        x: change.at,
        y: 1,
        yanchor: 'bottom' as const,
        showarrow: false,
        captureevents: true,
        text: '◆',
        hovertext: changeText(change, unit),
        font: { size: 10, color: theme.mark },
      })),
    ],
  }
}

function changeText({ at, before, after, event }: LevelChange, unit: string): string {
  const level = (value: number | null) => (value === null ? 'unknown' : formatQuantity(value, unit))
  const levels = `${at.slice(0, 10)}: ${level(before)} → ${level(after)}`
  return event === null ? levels : `${levels}<br>${plotText(event.slice(0, 200))}`
}

function tableOf({ history, forecast, unit }: ForecastDays): ChartFigure['table'] {
  const named = (name: string) => `${name} (${unit})`
  return {
    columns: [
      'day (UTC)',
      named('measured'),
      'excluded',
      ...['median', 'low 80 %', 'high 80 %', 'low 95 %', 'high 95 %'].map(named),
    ],
    rows: [
      ...history.map(({ day, value, excluded }) => [
        day,
        value,
        excluded === null ? null : excludedWords[excluded],
        ...[null, null, null, null, null],
      ]),
      ...forecast.map((at) => [at.day, null, null, at.median, at.lo80, at.hi80, at.lo95, at.hi95]),
    ],
  }
}

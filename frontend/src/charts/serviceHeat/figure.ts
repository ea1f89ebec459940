import type { Data } from 'plotly.js'
import type { ServiceSummary } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatBytes, formatRatio, scaleFor } from '../../lib/units/units'
import { axis, baseLayout, hatched } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

const classes = ['hot', 'warm', 'cold'] as const

/** Services with a known size, the largest first, at most `most` of them. */
export function largestServices(services: ServiceSummary[], most: number): ServiceSummary[] {
  return services
    .filter((service) => service.resident_bytes.value !== null)
    .sort((a, b) => (b.resident_bytes.value ?? 0) - (a.resident_bytes.value ?? 0))
    .slice(0, most)
}

function classBytes(service: ServiceSummary, name: (typeof classes)[number]): number | null {
  const ratio = service[`${name}_ratio`].value
  const resident = service.resident_bytes.value
  return ratio === null || resident === null ? null : ratio * resident
}

/** Resident bytes by service as stacked bars of hot, warm and cold; the part without a class is hatched. */
export function serviceHeatFigure(services: ServiceSummary[], theme: ChartTheme): ChartFigure {
  const shown = largestServices(services, 12).reverse()
  const scale = scaleFor('bytes', Math.max(1, ...shown.map((service) => service.resident_bytes.value ?? 0)))
  const names = shown.map((service) => service.id)
  const unknown = shown.map((service) => {
    const known = classes.reduce((sum, name) => sum + (classBytes(service, name) ?? 0), 0)
    return Math.max(0, (service.resident_bytes.value ?? 0) - known)
  })
  const stacked = classes.map((name): Data => {
    return {
      type: 'bar',
      orientation: 'h',
      name,
      y: names,
      x: shown.map((service) => (classBytes(service, name) ?? 0) / scale.divisor),
      customdata: shown.map((service) => {
        const ratio = service[`${name}_ratio`].value
        return ratio === null
          ? 'not collected'
          : `${formatBytes(classBytes(service, name) ?? 0)} (${formatRatio(ratio)})`
      }),
      hovertemplate: '%{customdata}',
      marker: { color: heatColours[name], line: { color: theme.surface, width: 1 } },
    }
  })
  const rest: Data = {
    type: 'bar',
    orientation: 'h',
    name: 'not collected',
    y: names,
    x: unknown.map((bytes) => bytes / scale.divisor),
    customdata: unknown.map((bytes) => formatBytes(bytes)),
    hovertemplate: '%{customdata}',
    marker: { ...hatched(theme), line: { color: theme.line, width: 1 } },
  }
  return {
    data: [...stacked, rest],
    layout: {
      ...baseLayout(theme),
      barmode: 'stack',
      bargap: 0.35,
      hovermode: 'y unified',
      dragmode: false,
      margin: { l: 140, r: 16, t: 4, b: 44, pad: 4 },
      xaxis: {
        ...axis(theme),
        fixedrange: true,
        nticks: 6,
        title: { text: `resident, ${scale.unit}`, font: { size: 11 }, standoff: 10 },
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        type: 'category',
        tickmode: 'array',
        tickvals: names,
        ticktext: shown.map((service) => plotText(middleCut(service.name, 18))),
        tickfont: { size: 12, color: theme.text },
      },
    },
    table: {
      columns: ['service', 'resident (B)', 'hot (B)', 'warm (B)', 'cold (B)'],
      rows: [...shown]
        .reverse()
        .map((service) => [
          `${service.namespace}/${service.name}`,
          service.resident_bytes.value,
          ...classes.map((name) => classBytes(service, name)),
        ]),
    },
  }
}

import type { Layout } from 'plotly.js'
import type { ChartTheme } from '../lib/palette'
import { axis } from './baseLayout'

/** The axis of what the simulator says that a run loses. */
export function lossAxis(theme: ChartTheme): Partial<Layout['yaxis']> {
  return {
    ...axis(theme),
    fixedrange: true,
    rangemode: 'tozero',
    nticks: 6,
    title: { text: 'estimated loss, %', font: { size: 11 }, standoff: 6 },
  }
}

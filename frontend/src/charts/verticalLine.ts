import type { Shape } from 'plotly.js'

/** A line from the bottom of the plot to its top, at one place of the x axis. */
export function verticalLine(x: number | string, line: Partial<Shape['line']>): Partial<Shape> {
  return { type: 'line', xref: 'x', yref: 'paper', x0: x, x1: x, y0: 0, y1: 1, line }
}

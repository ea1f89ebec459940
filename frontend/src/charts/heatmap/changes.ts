import { plotTimeSeconds } from '../../lib/units/time'
import type { Box } from '../../lib/url/urlState'

type Update = Record<string, unknown>

function seconds(value: unknown): number | null {
  if (typeof value === 'string') return plotTimeSeconds(value)
  return typeof value === 'number' ? value / 1000 : null
}

/** The view after a pan or zoom with the pointer, given the one before; null where the change was another one. */
export function boxOfChange(update: Update, before: Box): Box | null {
  const t0 = seconds(update['xaxis.range[0]'])
  const t1 = seconds(update['xaxis.range[1]'])
  const rows = [update['yaxis.range[0]'], update['yaxis.range[1]']].filter((value) => typeof value === 'number')
  if (t0 === null && rows.length === 0) return null
  return {
    t0: t0 ?? before.t0,
    t1: t1 ?? before.t1,
    r0: rows.length === 2 ? Math.min(...rows) : before.r0,
    r1: rows.length === 2 ? Math.max(...rows) : before.r1,
  }
}

/** The rectangle that the viewer has just drawn; null where the change was another one or the rectangle is empty. */
export function boxOfBrush(update: Update): Box | null {
  const shapes = update['shapes']
  if (!Array.isArray(shapes)) return null
  const shape: unknown = shapes.at(-1)
  if (typeof shape !== 'object' || shape === null) return null
  const { x0, x1, y0, y1, yref, type } = shape as Update
  const times = [seconds(x0), seconds(x1)].filter((value) => value !== null)
  if (type !== 'rect' || yref !== 'y' || times.length !== 2 || typeof y0 !== 'number' || typeof y1 !== 'number')
    return null
  const box = { t0: Math.min(...times), t1: Math.max(...times), r0: Math.min(y0, y1), r1: Math.max(y0, y1) }
  return box.t1 > box.t0 && box.r1 > box.r0 ? box : null
}

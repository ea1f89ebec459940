import { plotTimeSeconds } from '../lib/units/time'

/** The time range that a viewer dragged out, in Unix seconds; null where the change was another one. */
export function timeZoomOf(update: Record<string, unknown>): { start: number; end: number } | null {
  const [from, to] = [update['xaxis.range[0]'], update['xaxis.range[1]']]
  if (typeof from !== 'string' || typeof to !== 'string') return null
  const [start, end] = [plotTimeSeconds(from), plotTimeSeconds(to)]
  return Number.isFinite(start) && Number.isFinite(end) && end - start >= 1 ? { start, end } : null
}

import { relativeSeconds } from '../units/time'

/** The range that a page opens with. */
export const defaultFrom = '-6h'

/** How often a live view asks again. */
export const liveRefreshMs = 30_000

/** The ranges offered by name. */
export const presets = ['-15m', '-1h', '-6h', '-24h', '-7d', '-30d'] as const

/** The ends of a range in Unix seconds, seen from `nowSeconds`. */
export function resolveRange(from: string, to: string | undefined, nowSeconds: number): { start: number; end: number } {
  const at = (text: string): number => {
    const relative = relativeSeconds(text)
    return relative === null ? Date.parse(text) / 1000 : nowSeconds - relative
  }
  const end = to === undefined ? nowSeconds : at(to)
  return { start: Math.min(at(from), end - 1), end }
}

/** The kinds of nothing that a figure can be, next to a real value (zero included). */
export type FigureStatus = 'ok' | 'not_collected' | 'not_supported' | 'not_enough_data'

/** What the data can support: one host's raw figures, a lower bound, or a full claim. */
export type Grade = 'early' | 'partial' | 'good'

/** An interval around a value; `level` (0..1) is null for hard bounds. */
export interface FigureInterval {
  lo: number
  hi: number
  level: number | null
  kind: 'confidence' | 'bounds' | 'range'
}

/** One number with its evidence, as the API answers it. Structural, so that `ui` needs no API types. */
export interface FigureValue {
  definition: string
  status: FigureStatus
  value: number | null
  unit: string
  reason: string | null
  method: string | null
  window: TimeWindow | null
  interval: FigureInterval | null
  n_hosts: number | null
  n_intervals: number | null
  n_samples: number | null
  coverage: number | null
  grade: Grade | null
  grounding: string
  warnings: string[]
}

/** A stretch of time as the API tells it. */
export interface TimeWindow {
  start: string
  end: string
}

/** The time of a value as a mark in the document: tests read there what each page says of one window. */
export function windowMark(window: TimeWindow | null): string {
  return window === null ? 'now' : `${window.start}/${window.end}`
}

/** A figure's value and time as attributes of what shows it. */
export function figureMarks(figure: FigureValue): Record<'data-testid' | 'data-value' | 'data-window', string> {
  return {
    'data-testid': `figure-${figure.definition}`,
    'data-value': figure.value === null ? figure.status : String(figure.value),
    'data-window': windowMark(figure.window),
  }
}

/** What stands for a figure without a value. Zero is a value and never comes here. */
export const nothingText: Record<Exclude<FigureStatus, 'ok'>, string> = {
  not_collected: 'not collected',
  not_supported: '–',
  not_enough_data: 'not enough data',
}

/** Long names of the measuring methods, for people. */
const methodNames: Record<string, string> = {
  pebs: 'PEBS samples (Intel)',
  ibs: 'IBS samples (AMD)',
  spe: 'SPE samples (Arm)',
  damon: 'DAMON',
  damon_pages: 'DAMON, pages',
  damon_regions: 'DAMON, regions',
  abit: 'accessed bits',
  abit_walk: 'accessed bits, page walk',
  idle_page: 'idle page tracking',
  referenced: 'referenced bytes per mapping',
  trace: 'page trace, every access',
  writes: 'write tracking',
  counters: 'kernel counters',
}

/** The name of a method in words, or the id itself where it is new to this dashboard. */
export function methodName(method: string | null): string {
  if (method === null || method === '') return 'not measured'
  return methodNames[method] ?? method
}

const granularities: Record<string, string> = { page: 'single pages', region: 'regions', vma: 'whole mappings' }

/** The smallest unit whose activity is known, in words. */
export function granularityWords(granularity: string): string {
  return granularities[granularity] ?? granularity
}

/** How heat was measured, in one line: back end, granularity, length of an interval. */
export function measuredBy(heat: { backend: string; granularity: string; interval_seconds: number | null }): string {
  if (heat.backend === 'none') return 'not measured'
  const interval = heat.interval_seconds === null ? '' : `, every ${intervalWords(heat.interval_seconds)}`
  return `${shortMethodName(heat.backend)}, ${granularityWords(heat.granularity)}${interval}`
}

/** The length of an interval: `10 s`, `1 min`, `1.5 min`. */
export function intervalWords(seconds: number): string {
  return seconds < 60 ? `${Number(seconds.toPrecision(3))} s` : `${Number((seconds / 60).toPrecision(3))} min`
}

/** The name of a method where space is short. */
export function shortMethodName(method: string): string {
  if (method === 'counters') return 'counters'
  return methodName(method)
    .replace(/[,(].*$/, '')
    .replace(/ per mapping$/, '')
    .trim()
}

/** Long names of the grounding tags. */
export const groundingNames: Record<string, string> = {
  S: 'source paper',
  L: 'literature or kernel text',
  R: 'not re-checked',
  A: 'assumption',
}

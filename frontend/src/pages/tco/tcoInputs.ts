import type { InputRange, Price, ScenarioDocument, TcoInput } from '../../api/_generated/schema'
import { numberAt, valueAt, withValue, type Json, type JsonObject, type UrlChanges } from '../../lib/tco/scenarioSpec'

/** An input as a slider shows it. `factor` turns the scenario's value into what is shown: 100 for shares in per cent. */
export interface SliderSpec {
  path: string
  label: string
  unit: string
  low: number
  high: number
  step: number
  decimals: number
  factor: number
  floor: number
  ceiling: number
}

const percentPaths = /(discount_rate|growth_per_year|cpu_ratio|loss\.value)$/
const wholePaths = /(devices|fleet\.hosts|fleet\.years)$/
/** Ends that the service does not let a value go beyond; others are only bounded by zero. */
const limits: [RegExp, number, number][] = [
  [/loss\.value$/, 0, 0.99],
  [/growth_per_year$/, -0.5, 5],
  [/(discount_rate|cpu_ratio)$/, 0, 0.99],
  [/devices$/, 1, 64],
  [/fleet\.years$/, 1, 20],
  [/finance\.life_years$/, 0.5, 30],
  [/compression_ratio$/, 1, 20],
]
const unitWords: Record<string, string> = { ratio: '×', 'drive sizes a day': 'drives/day', 'MB per s': 'MB/s' }

/** The scenario as JSON to walk through by paths. */
export function asJson(spec: ScenarioDocument): JsonObject {
  return spec as unknown as JsonObject
}

/** JSON that was walked through, as a scenario again; the service checks it. */
export function asScenario(spec: JsonObject): ScenarioDocument {
  return spec as unknown as ScenarioDocument
}

/** The slider of an input; `option` is the position that stands for `[]` in its path. */
export function sliderOf(range: InputRange, option: number, currency: string): SliderSpec {
  const path = range.path.replace('options[]', `options.${option}`)
  const percent = percentPaths.test(path)
  const factor = percent ? 100 : 1
  const [, floor = 0, ceiling = Number.MAX_SAFE_INTEGER] = limits.find(([pattern]) => pattern.test(path)) ?? []
  return {
    path,
    label: range.label,
    unit: percent ? (range.unit.includes('per year') ? '%/year' : '%') : unitOf(range, currency),
    low: range.lowest * factor,
    high: range.highest * factor,
    step: range.step * factor,
    decimals: wholePaths.test(path) ? 0 : 3,
    factor,
    floor: floor * factor,
    ceiling: ceiling * factor,
  }
}

function unitOf(range: InputRange, currency: string): string {
  if (range.path.startsWith('prices.')) return range.unit.replace('per ', `${currency}/`)
  return unitWords[range.unit] ?? range.unit.replace(' per ', '/')
}

/** The shared input that a path belongs to, such as `dram` of `prices.dram.value`; undefined for parts of hosts. */
export function inputOf(path: string, inputs: TcoInput[]): TcoInput | undefined {
  const [group, name] = path.split('.')
  return ['prices', 'power', 'endurance'].includes(group ?? '')
    ? inputs.find((input) => input.name === name)
    : undefined
}

/** The value of an input in the scenario, or what the service took where the scenario says nothing; null without either. */
export function valueOf(spec: JsonObject, path: string, inputs: TcoInput[]): number | null {
  return numberAt(spec, path) ?? inputOf(path, inputs)?.value ?? null
}

const byHand = 'changed by hand'

/**
 * A scenario with another value of an input. A price is what was typed, without a range, and says that it was changed by
 * hand, and on which day; of another value with a range the ends move along so that they hold it.
 */
export function withInput(
  spec: JsonObject,
  path: string,
  value: number,
  inputs: TcoInput[],
  today: string,
): JsonObject {
  if (!path.endsWith('.value')) return withValue(spec, path, value)
  const parent = path.slice(0, -'.value'.length)
  const known = inputOf(path, inputs)
  const held = valueAt(spec, parent)
  const stated = typeof held === 'object' && held !== null && !Array.isArray(held) ? held : null
  const [low, high] = [
    numberAt(stated ?? undefined, 'low') ?? known?.low ?? null,
    numberAt(stated ?? undefined, 'high') ?? known?.high ?? null,
  ]
  const next: { [key: string]: Json } = {
    ...stated,
    value,
    low: low === null ? null : Math.min(low, value),
    high: high === null ? null : Math.max(high, value),
  }
  if (path.startsWith('prices.')) {
    next['low'] = next['high'] = null
    const before = valueAt(stated ?? undefined, 'source') ?? known?.source ?? ''
    const source = typeof before === 'string' ? before : ''
    next['source'] =
      source.startsWith(byHand) || source === '' ? source || byHand : `${byHand}; before: ${source}`.slice(0, 200)
    next['date'] = today
  }
  return withValue(spec, parent, next)
}

/** A price of the book as a scenario states it. */
export function priceDocument(price: Pick<Price, 'value' | 'low' | 'high' | 'source' | 'date'>): JsonObject {
  const { value, low, high, source, date } = price
  return { value, low, high, source: source.slice(0, 200), date }
}

const groundingWords: Record<string, string> = {
  L: 'literature',
  A: 'an assumption',
  owner: 'stated here',
}

/** Where an input's value comes from, one fact a line, for its hover text. */
export function groundingOf(slider: SliderSpec, input: TcoInput | undefined): string[] {
  const range = `The slider goes from ${shown(slider.low)} to ${shown(slider.high)} ${slider.unit}; a typed value may lie beyond.`
  if (input === undefined) return [range]
  const ends =
    input.low === input.high
      ? 'Fixed, without uncertainty.'
      : `Drawn between ${shown(input.low * slider.factor)} and ${shown(input.high * slider.factor)} ${slider.unit}.`
  return [
    `Source: ${input.source}.`,
    `${input.date === null ? 'No date' : `As of ${input.date}`}; grounding: ${groundingWords[input.grounding] ?? input.grounding}.`,
    ends,
    range,
  ]
}

function shown(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 6 })
}

/** Parts of a scenario that are the owner's, whichever hosts it is of: they stay when another preset is chosen. */
const kept = /^(prices|power|endurance|finance)(\.|$)/

/** What of the changes holds for other hosts too; undefined where nothing does. */
export function keptChanges(changes: UrlChanges | undefined): UrlChanges | undefined {
  const entries = Object.entries(changes ?? {}).filter(([path]) => kept.test(path))
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

import type { InputRange } from '../../api/_generated/schema'
import { valueAt, type JsonObject } from '../../lib/tco/scenarioSpec'

/** Sliders of the machines without their memory: price and power of each kind that the scenario has. */
export function skuRanges(spec: JsonObject): InputRange[] {
  const skus = valueAt(spec, 'skus')
  const several = Array.isArray(skus) && skus.length > 1
  return (Array.isArray(skus) ? skus : []).flatMap((sku, index) => {
    const name = several ? `${String(valueAt(sku, 'name'))}: ` : ''
    return [
      {
        path: `skus.${index}.price`,
        label: `${name}Host without memory`,
        lowest: 0,
        highest: 40_000,
        step: 100,
        unit: `${String(valueAt(spec, 'currency'))} per host`,
      },
      {
        path: `skus.${index}.watts`,
        label: `${name}Its power`,
        lowest: 0,
        highest: 1500,
        step: 10,
        unit: 'W per host',
      },
    ]
  })
}

import type { CapacityForecast } from '../../api/_generated/schema'
import type { ForecastDays } from '../../charts/forecast/figure'

export const metricWords = { resident: 'In use', hot: 'Hot', dram_need: 'DRAM need' } as const

/** A forecast as its chart takes it. */
export function daysOf(forecast: CapacityForecast): ForecastDays {
  return {
    label: `${metricWords[forecast.metric]}, ${forecast.subject.name}`,
    unit: forecast.unit,
    history: forecast.history,
    forecast: forecast.forecast,
    changes: forecast.changes,
    threshold: forecast.exhaustion.threshold_bytes,
  }
}

import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { costBarsFigure, partColour, partsOf, type CostBar } from './figure'

interface CostBarsChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint'> {
  /** Undefined while there is no answer. */
  bars: CostBar[] | undefined
  currency: string
}

/** Scenarios side by side: what a host of each costs in a year. */
export function CostBarsChart({ bars, currency, ...panel }: CostBarsChartProps) {
  const figure = useFigure(costBarsFigure, bars, currency)
  return (
    <ChartPanel
      chart="costBars"
      {...panel}
      name="cost-bars"
      title="Yearly cost of a host"
      label="Yearly cost of a host by part, scenarios side by side"
      figure={figure}
      legend={partsOf(bars ?? []).map((part, index) => ({ label: part, colour: partColour(part, index) }))}
    />
  )
}

import { costColours } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { costWaterfallFigure, type CostSteps } from './figure'

interface CostWaterfallChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint'> {
  /** Undefined while there is no answer. */
  cost: CostSteps | undefined
}

/** Which parts make an option cheaper or dearer than the baseline. */
export function CostWaterfallChart({ cost, ...panel }: CostWaterfallChartProps) {
  const figure = useFigure(costWaterfallFigure, cost)
  return (
    <ChartPanel
      chart="costWaterfall"
      {...panel}
      name="cost-waterfall"
      title="Where the difference comes from"
      label="Yearly cost from the baseline to the option, by part"
      figure={figure}
      legend={[
        { label: 'costs less', colour: costColours.less },
        { label: 'costs more', colour: costColours.more },
      ]}
    />
  )
}

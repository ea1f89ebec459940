import type { ExperimentPlan } from '../../api/_generated/schema'
import { seriesColour } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { powerFigure } from './figure'

interface PowerChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  plan: ExperimentPlan | undefined
  canary: number
}

/** What an experiment could find, by the number of its hosts. */
export function PowerChart({ plan, canary, ...panel }: PowerChartProps) {
  const figure = useFigure(powerFigure, plan, canary)
  return (
    <ChartPanel
      chart="power"
      {...panel}
      name="power"
      title="Detectable effect"
      label="Smallest detectable effect by hosts per arm"
      hint="power 0.8, α = 0.05; dashed: the margin and the chosen hosts"
      figure={figure}
      evidence={plan?.spread_ratio}
      empty={
        plan !== undefined && plan.points.length === 0
          ? {
              title: 'Not enough data yet',
              next: plan.missing?.reason ?? 'The hosts report too little data for this metric.',
            }
          : null
      }
      legend={[{ label: 'smallest detectable effect', colour: seriesColour(0) }]}
    />
  )
}

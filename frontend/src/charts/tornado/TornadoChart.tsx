import { swingColours } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { strongest, tornadoFigure, type Swings } from './figure'

interface TornadoChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  /** Undefined while there is no answer. */
  swings: Swings | undefined
}

/** Which inputs decide, and which do not matter. */
export function TornadoChart({ swings, ...panel }: TornadoChartProps) {
  const figure = useFigure(tornadoFigure, swings)
  return (
    <ChartPanel
      chart="tornado"
      {...panel}
      name="tornado"
      title="Sensitivity to inputs"
      label="Saving with one input at a time at its low and high end"
      hint="one input at a time over its range, others fixed"
      figure={figure}
      empty={
        swings !== undefined && strongest(swings.swings).length === 0
          ? { title: 'No input has a range', next: 'Set a low and a high value for at least one input.' }
          : null
      }
      legend={[
        { label: 'input at its low end', colour: swingColours.low },
        { label: 'at its high end', colour: swingColours.high },
      ]}
    />
  )
}

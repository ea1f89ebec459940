import { useMemo } from 'react'
import { swingColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { strongest, tornadoFigure, type Swings } from './figure'

interface TornadoChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  /** Undefined while there is no answer. */
  swings: Swings | undefined
}

/** Which inputs decide, and which do not matter. */
export function TornadoChart({ swings, ...panel }: TornadoChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(() => (swings === undefined ? null : tornadoFigure(swings, theme)), [swings, theme])
  return (
    <ChartPanel
      chart="tornado"
      {...panel}
      name="tornado"
      title="Which inputs decide"
      label="Saving with one input at a time at its lowest and highest"
      hint="one input at a time over its range, all others as set"
      figure={figure}
      empty={
        swings !== undefined && strongest(swings.swings).length === 0
          ? { title: 'No input has a range', next: 'Give inputs a lowest and a highest value.' }
          : null
      }
      legend={[
        { label: 'input at its lowest', colour: swingColours.low },
        { label: 'at its highest', colour: swingColours.high },
      ]}
    />
  )
}

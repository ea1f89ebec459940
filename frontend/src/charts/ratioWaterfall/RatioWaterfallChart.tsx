import type { RatioParts } from '../../api/_generated/schema'
import { costColours, tierColour } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { ratioWaterfallFigure } from './figure'

interface RatioWaterfallChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint'> {
  parts: RatioParts
}

/** Which needs the DRAM of a ratio is made of. */
export function RatioWaterfallChart({ parts, ...panel }: RatioWaterfallChartProps) {
  const figure = useFigure(ratioWaterfallFigure, parts)
  return (
    <ChartPanel
      chart="ratioWaterfall"
      {...panel}
      name="ratio-waterfall"
      title="Why this ratio"
      label="Parts of the DRAM that is named"
      figure={figure}
      legend={[
        { label: 'needs DRAM', colour: tierColour('dram') },
        { label: 'may be on slow memory', colour: costColours.less },
        { label: 'DRAM of the ratio', colour: costColours.total },
      ]}
    />
  )
}

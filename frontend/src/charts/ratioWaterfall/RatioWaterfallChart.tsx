import { useMemo } from 'react'
import type { RatioParts } from '../../api/_generated/schema'
import { costColours, tierColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { ratioWaterfallFigure } from './figure'

interface RatioWaterfallChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint'> {
  parts: RatioParts
}

/** Which needs the DRAM of a ratio is made of. */
export function RatioWaterfallChart({ parts, ...panel }: RatioWaterfallChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(() => ratioWaterfallFigure(parts, theme), [parts, theme])
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

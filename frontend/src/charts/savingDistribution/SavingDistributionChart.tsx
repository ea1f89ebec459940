import { costColours } from '../../lib/palette'
import { formatCount, formatRatio } from '../../lib/units/units'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { savingDistributionFigure, type SavingDraws } from './figure'

interface SavingDistributionChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  /** Undefined while there is no answer, or while it is drawn anew. */
  found: SavingDraws | undefined
}

/** How sure the saving is, with all inputs drawn from their ranges at once. */
export function SavingDistributionChart({ found, ...panel }: SavingDistributionChartProps) {
  const figure = useFigure(savingDistributionFigure, found)
  return (
    <ChartPanel
      chart="savingDistribution"
      {...panel}
      name="saving-distribution"
      title="Uncertainty of the saving"
      label="Distribution of the saving over the ranges of all inputs"
      hint={
        found === undefined
          ? '\u00a0'
          : `P(saving > 0) = ${formatRatio(found.p_positive)}, from ${formatCount(found.draws)} draws with seed ${found.seed}`
      }
      figure={figure}
      legend={[
        { label: 'saves', colour: costColours.less },
        { label: 'costs more', colour: costColours.more },
      ]}
    />
  )
}

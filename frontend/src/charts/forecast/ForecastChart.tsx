import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { forecastColour, forecastFigure, type ForecastDays } from './figure'

interface ForecastChartProps extends Pick<
  ChartPanelProps,
  'load' | 'height' | 'title' | 'hint' | 'controls' | 'empty'
> {
  /** Undefined while there is no answer. */
  days: ForecastDays | undefined
}

/** Memory of a service or a group of hosts: what it was, and what is expected with its intervals. */
export function ForecastChart({ days, ...panel }: ForecastChartProps) {
  const theme = useChartTheme()
  const figure = useFigure(forecastFigure, days)
  return (
    <ChartPanel
      chart="forecast"
      {...panel}
      name="forecast"
      label={`Forecast of ${days?.label ?? 'memory'}`}
      figure={figure}
      legend={[
        { label: 'measured', colour: theme.text },
        { label: 'forecast, with 80 % and 95 % intervals', colour: forecastColour },
        { label: '✕ excluded' },
        { label: '◆ change point' },
      ]}
    />
  )
}

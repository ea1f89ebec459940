import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { hasSwap, hostsNeededFigure, planColours, type NeededHosts } from './figure'

interface HostsNeededChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint' | 'empty'> {
  /** Undefined while there is no answer. */
  quarters: NeededHosts[] | undefined
}

/** How many hosts each quarter needs, with and without slow tiers. */
export function HostsNeededChart({ quarters, ...panel }: HostsNeededChartProps) {
  const figure = useFigure(hostsNeededFigure, quarters)
  return (
    <ChartPanel
      chart="hostsNeeded"
      {...panel}
      name="hosts-needed"
      title="Hosts needed"
      label="Hosts needed per quarter, with and without tiering"
      figure={figure}
      legend={[
        { label: 'without tiering', colour: planColours.without },
        { label: 'with tiering', colour: planColours.with },
        ...(quarters !== undefined && hasSwap(quarters) ? [{ label: 'with swap too', colour: planColours.swap }] : []),
      ]}
    />
  )
}

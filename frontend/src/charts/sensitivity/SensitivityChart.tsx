import type { Sensitivity } from '../../api/_generated/schema'
import { kindColour } from '../../lib/palette'
import { formatCount } from '../../lib/units/units'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { Beside } from '../ghost'
import { useFigure } from '../useFigure'
import { sensitivityFigure } from './figure'

interface SensitivityChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'controls'> {
  sensitivity: Sensitivity | undefined
  kind: 'anon' | 'file'
  /** Host names by id. */
  hosts: Map<string, string>
  beside?: Beside<Sensitivity> | null
}

/** Throughput against memory in DRAM, for looking at: the estimate itself comes from changes. */
export function SensitivityChart({ sensitivity, kind, hosts, beside = null, ...panel }: SensitivityChartProps) {
  const theme = useChartTheme()
  const figure = useFigure(sensitivityFigure, sensitivity, kind, hosts, beside)
  const fitted = sensitivity?.fit.some((fit) => fit.kind === kind) ?? false
  const shown = sensitivity?.scatter.length ?? 0
  return (
    <ChartPanel
      chart="sensitivity"
      {...panel}
      name="sensitivity"
      title="Throughput and memory in DRAM"
      label={`Throughput against ${kind} memory in DRAM`}
      hint={
        shown === 0
          ? '\u00a0'
          : `${formatCount(shown)} of ${formatCount(sensitivity?.scatter_of ?? shown)} host-intervals; ${fitted ? 'the line is fitted to levels' : 'no line is fitted'}`
      }
      figure={figure}
      ghost={beside}
      evidence={sensitivity?.kinds.find((found) => found.kind === kind)?.elasticity}
      empty={
        sensitivity !== undefined && shown === 0
          ? {
              title: 'No throughput data in this time range',
              next:
                sensitivity.missing?.reason ??
                'Map the service’s throughput under `[[service_metrics]]` in the agent’s settings.',
            }
          : null
      }
      legend={[
        { label: `${kind}, one host and interval`, colour: kindColour(kind) },
        ...(fitted ? [{ label: 'fit of the levels', colour: theme.text }] : []),
      ]}
    />
  )
}

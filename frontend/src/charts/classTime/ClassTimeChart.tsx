import type { ServiceHeat } from '../../api/_generated/schema'
import { heatColours } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import type { Ghost } from '../ghost'
import { useFigure } from '../useFigure'
import { classSeries, classTimeFigure } from './figure'

interface ClassTimeChartProps extends Omit<
  ChartPanelProps,
  'chart' | 'figure' | 'legend' | 'empty' | 'name' | 'ghost'
> {
  ghost?: Ghost | null
  heat: ServiceHeat | undefined
  marks: ChartMark[]
}

/** Hot, warm and cold bytes of a service over time. */
export function ClassTimeChart({ heat, marks, ghost = null, ...panel }: ClassTimeChartProps) {
  const figure = useFigure(classTimeFigure, heat, marks, ghost)
  const series = heat === undefined ? [] : classSeries(heat)
  const drawable = series.some(({ line }) => line.values.some((value) => value !== null))
  return (
    <ChartPanel
      chart="classTime"
      {...panel}
      name="class-time"
      figure={figure}
      ghost={ghost}
      empty={
        heat !== undefined && !drawable
          ? {
              title: 'No heat in this time range',
              next: 'Widen the time range, or see Hosts for where heat is measured and why not elsewhere.',
            }
          : null
      }
      legend={[
        ...(['hot', 'warm', 'cold'] as const).map((name) => ({ label: name, colour: heatColours[name] })),
        ...(series.some(({ name }) => name === 'unknown') ? [{ label: 'unknown', colour: heatColours.unknown }] : []),
        { label: 'not collected', hatched: true },
      ]}
    />
  )
}

import type { PingPongHistory } from '../../api/_generated/schema'
import { stateColours } from '../../lib/palette'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { ChartMark } from '../eventMarks'
import type { Ghost } from '../ghost'
import { useFigure } from '../useFigure'
import { pingPongFigure, stateNames } from './figure'

interface PingPongChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'hint' | 'onTimeZoom'> {
  ghost?: Ghost | null
  history: PingPongHistory | undefined
  marks: ChartMark[]
}

/** Ping-pong over time with its states. */
export function PingPongChart({ history, marks, ghost = null, ...panel }: PingPongChartProps) {
  const figure = useFigure(pingPongFigure, history, marks, ghost)
  const known = history?.states.some((state) => state !== null) ?? false
  const drawable = known || (history?.series.some((line) => line.values.some((value) => value !== null)) ?? false)
  return (
    <ChartPanel
      chart="pingPong"
      {...panel}
      name="ping-pong"
      title="Ping-pong over time"
      label="Ping-pong over time with its states"
      figure={figure}
      ghost={ghost}
      evidence={history?.ratio}
      empty={
        history !== undefined && !drawable
          ? {
              title: 'No tier moves to classify in this time range',
              next:
                history.missing?.reason ?? 'Widen the time range: classification needs a few minutes of tier moves.',
            }
          : null
      }
      legend={[
        ...(['ok', 'warn', 'crit'] as const).map((state) => ({
          label: stateNames[state],
          colour: stateColours[state],
        })),
        { label: 'unknown', hatched: true },
      ]}
    />
  )
}

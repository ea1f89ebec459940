import type { FleetOverview } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { noMarks, type ChartMark } from '../eventMarks'
import { changeLegend } from '../changeLegend'
import type { Ghost } from '../ghost'
import { useFigure } from '../useFigure'
import { matrixFigure } from './figure'

interface MatrixChartProps {
  fleet: FleetOverview | undefined
  load: LoadState
  marks?: ChartMark[]
  ghost?: Ghost | null
  onService: (serviceId: string) => void
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

/** When each service was cold: services by time. */
export function MatrixChart({ fleet, load, marks = noMarks, ghost = null, onService, onTimeZoom }: MatrixChartProps) {
  const theme = useChartTheme()
  const figure = useFigure(matrixFigure, fleet, marks, ghost)
  const changes = ghost !== null && ghost.missing === null
  const drawable = fleet?.matrix.some((row) => row.cold_ratio.some((ratio) => ratio !== null)) ?? false
  return (
    <ChartPanel
      chart="matrix"
      name="matrix"
      title={changes ? `Cold share against ${ghost.label}` : 'Cold share over time'}
      label="Cold share of each service over time"
      hint={changes ? 'Blue: more of it is cold than it was.' : 'Bright: cold memory that could leave DRAM.'}
      load={load}
      figure={figure}
      hatched
      height={300}
      empty={
        fleet !== undefined && !drawable
          ? {
              title: 'No cold share in this time range',
              next: fleet.cold_ratio.reason ?? 'Widen the time range, or open a service to see where heat is measured.',
            }
          : null
      }
      evidence={fleet?.cold_ratio}
      legend={[...(changes ? changeLegend(theme) : []), { label: 'not collected', hatched: true }]}
      ghost={changes ? null : ghost}
      onTimeZoom={onTimeZoom}
      onPointClick={(point) => {
        if (typeof point.y === 'string') onService(point.y)
      }}
    />
  )
}

import { useMemo } from 'react'
import type { FleetOverview } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { heatColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { largestServices, serviceHeatFigure } from './figure'

interface ServiceHeatChartProps {
  fleet: FleetOverview | undefined
  load: LoadState
  onService: (serviceId: string) => void
}

/** Which services hold the memory, and how hot it is. */
export function ServiceHeatChart({ fleet, load, onService }: ServiceHeatChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(() => (fleet === undefined ? null : serviceHeatFigure(fleet.services, theme)), [fleet, theme])
  const shown = fleet === undefined ? 0 : largestServices(fleet.services, 12).length
  return (
    <ChartPanel
      chart="serviceHeat"
      name="service-heat"
      title="Memory by service and heat"
      label="Memory by service and heat"
      hint={
        fleet !== undefined && fleet.services.length > shown
          ? `now; the ${shown} largest of ${fleet.services.length}`
          : 'now'
      }
      load={load}
      figure={figure}
      height={300}
      empty={
        fleet !== undefined && shown === 0
          ? {
              title: 'No service has been measured yet',
              next: 'Services appear within two minutes of an agent’s first upload. Check Status for the agents.',
            }
          : null
      }
      evidence={fleet?.hot_ratio}
      legend={[
        { label: 'hot', colour: heatColours.hot },
        { label: 'warm', colour: heatColours.warm },
        { label: 'cold', colour: heatColours.cold },
        { label: 'not collected', hatched: true },
      ]}
      onPointClick={(point) => {
        if (typeof point.y === 'string') onService(point.y)
      }}
    />
  )
}

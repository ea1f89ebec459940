import type { ReactNode } from 'react'
import type { HostTriage, Incident } from '../../api/_generated/schema'
import { alertStateColour } from '../../lib/alerts'
import type { LoadState } from '../../lib/loadState'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { incidentFigure, type Zoom } from './figure'
import { styleOf } from './rows'

interface IncidentChartProps {
  incident: Incident | HostTriage | undefined
  name?: string
  title?: string
  label?: string
  load: LoadState
  height: number
  /** The part of the incident that is shown; null for all of it. */
  zoom: Zoom | null
  controls?: ReactNode
  onTimeZoom: (startSeconds: number, endSeconds: number) => void
}

/** An incident on one axis of time: what the kernel did, and what it did to the service. */
export function IncidentChart({
  incident,
  name = 'incident',
  title = 'What happened',
  label = 'The incident over time',
  load,
  height,
  zoom,
  controls,
  onTimeZoom,
}: IncidentChartProps) {
  const theme = useChartTheme()
  const figure = useFigure(incidentFigure, incident, zoom)
  const nothing = incident?.rows.every(({ status }) => status !== 'ok') === true
  // A row of one line is named by its title.
  const lines = incident?.rows.flatMap(({ series }) => (series.length > 1 ? series : [])) ?? []
  return (
    <ChartPanel
      chart="incident"
      name={name}
      title={title}
      label={label}
      load={load}
      figure={figure}
      height={height}
      controls={controls}
      empty={
        nothing
          ? {
              title: 'No lines in this time',
              next: incident.rows.find(({ reason }) => reason !== null)?.reason ?? 'Open the host’s page.',
            }
          : null
      }
      legend={[
        ...(incident !== undefined && 'onset' in incident
          ? [
              { label: 'condition holds', colour: alertStateColour('pending', theme.name) },
              { label: 'firing', colour: alertStateColour('firing', theme.name) },
            ]
          : []),
        ...lines.map(({ key, label }) => ({ label, colour: styleOf(key).colour(theme) })),
      ]}
      onTimeZoom={onTimeZoom}
    />
  )
}

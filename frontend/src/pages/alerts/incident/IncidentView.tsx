import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Alert, Incident } from '../../../api/_generated/schema'
import { IncidentChart } from '../../../charts/incident/IncidentChart'
import type { LoadState } from '../../../lib/loadState'
import { nothingText } from '../../../lib/units/figure'
import { NotesList } from '../../../ui/text/NotesList'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { CausePanel } from './CausePanel'
import { FixPanel } from './FixPanel'
import classes from './Incident.module.css'
import { zoomWithin } from './zoomWithin'

const chartHeight = 470

/** Cause and fix beside the incident on one axis of time; what has no lines is named with its reason. */
export function IncidentView({
  alert,
  incident,
  load,
}: {
  alert: Alert
  incident: Incident | undefined
  load: LoadState
}) {
  const { range, zoomTo } = useTimeRange()
  const navigate = useNavigate()
  const zoom = useMemo(() => zoomWithin(range, incident?.window), [range, incident?.window])
  const absent = incident?.rows.filter(({ status }) => status !== 'ok') ?? []
  const notes = absent.map(({ label, status, reason }) => {
    const word = status === 'ok' || status === 'not_supported' ? 'not supported' : nothingText[status]
    return `${label}: ${word}. ${reason ?? ''}`
  })
  return (
    <>
      <div className={classes.split}>
        <IncidentChart
          incident={incident}
          load={load}
          height={chartHeight}
          zoom={zoom}
          onTimeZoom={zoomTo}
          controls={
            zoom !== null && (
              <Button
                variant="default"
                size="compact-xs"
                onClick={() =>
                  void navigate({ to: '.', search: (before) => ({ ...before, from: undefined, to: undefined }) })
                }
              >
                Whole incident
              </Button>
            )
          }
        />
        <div className={classes.side}>
          <CausePanel alert={alert} incident={incident} />
          <FixPanel incident={incident} runbook={alert.runbook_url} />
        </div>
      </div>
      <NotesList notes={incident === undefined ? undefined : [...notes, ...incident.notes]} />
    </>
  )
}

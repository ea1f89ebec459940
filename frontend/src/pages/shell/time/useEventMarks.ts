import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { AlertMark } from '../../../api/_generated/schema'
import { alertMarksQuery } from '../../../api/queries/alerts/alerts'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { eventsQuery } from '../../../api/queries/events'
import { markKind, noMarks, type ChartMark } from '../../../charts/eventMarks'
import { relevantEvents, type EventSubject } from '../../../lib/fleet/events'
import { useTimeRange } from './useTimeRange'

/** The host or service whose alerts charts mark. */
export type AlertedSubject = { host: string } | { service: string } | null

function alertMark(mark: AlertMark): ChartMark {
  return {
    atSeconds: Date.parse(mark.at) / 1000,
    text: `${mark.kind} (${mark.severity}): ${mark.rule_name}`,
    kind: mark.kind === 'fired' ? 'alert_fired' : 'alert_resolved',
  }
}

/**
 * The events and alerts of the time range that concern a page, and the marks that its charts draw unless they are
 * switched off.
 */
export function useEventMarks(subject: EventSubject, alerted: AlertedSubject = null) {
  const { range } = useTimeRange()
  const { marks: choice } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const query = useQuery(eventsQuery(range))
  const alerts = useQuery(alertMarksQuery(alerted, range))
  const isShown = choice !== 'off'
  const [note, setNote] = useState<{ atSeconds: number | null } | null>(null)
  const startNote = useCallback((atSeconds: number | null) => setNote({ atSeconds }), [])
  const endNote = () => setNote(null)
  // The subject is made anew with each render; its text is not.
  const key = JSON.stringify(subject)
  const events = useMemo(
    () => relevantEvents(query.data?.items ?? [], JSON.parse(key) as EventSubject),
    [query.data, key],
  )
  const marks = useMemo(
    (): ChartMark[] =>
      isShown
        ? [
            ...events.map((event) => ({
              atSeconds: Date.parse(event.at) / 1000,
              text: `${event.kind}: ${event.text}`,
              kind: markKind(event.kind),
            })),
            ...(alerts.data ?? []).map(alertMark),
          ]
        : noMarks,
    [events, alerts.data, isShown],
  )
  const show = (next: boolean) =>
    void navigate({
      to: '.',
      search: (before) => ({ ...before, marks: next ? undefined : 'off' }),
      replace: true,
      resetScroll: false,
    })
  const fired = alerts.data?.filter(({ kind }) => kind === 'fired').length ?? 0
  return {
    events,
    alerted,
    fired,
    marks,
    isShown,
    show,
    load: loadStateOf(query),
    truncated: query.data?.truncated ?? false,
    /** The note that is being written; null where none is. */
    note,
    startNote,
    endNote,
  }
}

/** What a page knows of the events on it. */
export type EventMarks = ReturnType<typeof useEventMarks>

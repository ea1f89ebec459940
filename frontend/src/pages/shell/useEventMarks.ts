import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { eventsQuery } from '../../api/queries/events'
import { loadStateOf } from '../../api/queries/loadState'
import { markKind, noMarks, type ChartMark } from '../../charts/eventMarks'
import { relevantEvents, type EventSubject } from '../../lib/events'
import { useTimeRange } from './useTimeRange'

/** The events of the time range that concern a page, and the marks that its charts draw unless they are switched off. */
export function useEventMarks(subject: EventSubject) {
  const { range } = useTimeRange()
  const { marks: choice } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const query = useQuery(eventsQuery(range))
  const isShown = choice !== 'off'
  // The subject is made anew with each render; its text is not.
  const key = JSON.stringify(subject)
  const events = useMemo(
    () => relevantEvents(query.data?.items ?? [], JSON.parse(key) as EventSubject),
    [query.data, key],
  )
  const marks = useMemo(
    (): ChartMark[] =>
      isShown
        ? events.map((event) => ({
            atSeconds: Date.parse(event.at) / 1000,
            text: `${event.kind}: ${event.text}`,
            kind: markKind(event.kind),
          }))
        : noMarks,
    [events, isShown],
  )
  const show = (next: boolean) =>
    void navigate({
      to: '.',
      search: (before) => ({ ...before, marks: next ? undefined : 'off' }),
      replace: true,
      resetScroll: false,
    })
  return { events, marks, isShown, show, load: loadStateOf(query), truncated: query.data?.truncated ?? false }
}

/** What a page knows of the events on it. */
export type EventMarks = ReturnType<typeof useEventMarks>

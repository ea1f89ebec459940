import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import type { TimeRange } from '../../../api/queries/base/range'
import { toRfc3339 } from '../../../lib/units/time'
import { defaultFrom, liveRefreshMs } from '../../../lib/url/timeRange'

/** The one time range of the app, from the URL, and the ways to change it. */
export function useTimeRange() {
  const { from, to, live } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const isLive = to === undefined && live !== 'off'
  const range = useMemo(
    (): TimeRange => ({ from: from ?? defaultFrom, to, refreshMs: isLive ? liveRefreshMs : null }),
    [from, to, isLive],
  )
  const setRange = useCallback(
    (nextFrom: string, nextTo: string | undefined) => {
      void navigate({ to: '.', search: (before) => ({ ...before, from: nextFrom, to: nextTo }) })
    },
    [navigate],
  )
  const zoomTo = useCallback(
    (startSeconds: number, endSeconds: number) => setRange(toRfc3339(startSeconds), toRfc3339(endSeconds)),
    [setRange],
  )
  const setLive = useCallback(
    (next: boolean) => {
      void navigate({
        to: '.',
        search: (before) => ({
          ...before,
          live: next ? undefined : 'off',
          ...(next && before.to !== undefined ? { from: undefined, to: undefined } : {}),
        }),
        replace: true,
      })
    },
    [navigate],
  )
  return { range, isLive, setRange, zoomTo, setLive }
}

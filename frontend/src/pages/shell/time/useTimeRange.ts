import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import { rangeOf } from '../../../api/queries/base/range'
import { toRfc3339 } from '../../../lib/units/time'

/** The one time range of the app, from the URL, and the ways to change it. */
export function useTimeRange() {
  const { from, to, live, kiosk } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const range = useMemo(() => rangeOf({ from, to, live, kiosk }), [from, to, live, kiosk])
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
  return { range, isLive: range.refreshMs !== null, setRange, zoomTo, setLive }
}

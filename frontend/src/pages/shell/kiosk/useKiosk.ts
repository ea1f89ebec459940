import { useQuery } from '@tanstack/react-query'
import { useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useRef } from 'react'
import { viewsQuery } from '../../../api/queries/access/views'
import { kioskAddress } from '../../../lib/url/viewAddress'

/** The shortest time that a view of a cycle stands, in seconds; below it the kiosk keeps one page. */
const leastCycleSeconds = 5

/** Whether the page is shown as a kiosk, from the address; Escape leaves it. Shared views follow each other if so asked. */
export function useKiosk() {
  const { kiosk } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const { history } = useRouter()
  const isKiosk = kiosk !== undefined
  const cycleSeconds = kiosk !== undefined && kiosk >= leastCycleSeconds ? kiosk : null
  const views = useQuery({
    ...viewsQuery(),
    enabled: cycleSeconds !== null,
    refetchInterval: cycleSeconds === null ? false : 60_000,
  })
  const addresses = (views.data?.items ?? []).filter(({ shared }) => shared).map(({ address }) => address)
  const order = addresses.join('\n')
  const next = useRef(0)

  useEffect(() => {
    if (cycleSeconds === null || order === '') return
    const cycle = order.split('\n')
    const timer = setInterval(() => {
      const address = cycle[next.current % cycle.length] ?? '/'
      next.current += 1
      history.replace(kioskAddress(address, cycleSeconds))
    }, cycleSeconds * 1000)
    return () => clearInterval(timer)
  }, [cycleSeconds, order, history])

  const setKiosk = useCallback(
    (on: boolean) => {
      void navigate({
        to: '.',
        search: (before) => ({ ...before, kiosk: on ? 1 : undefined }),
        replace: true,
        resetScroll: false,
      })
    },
    [navigate],
  )

  useEffect(() => {
    if (!isKiosk) return
    const onKeyDown = (event: KeyboardEvent) => {
      // What lies open over the page closes first.
      if (event.key === 'Escape' && document.querySelector('[role="dialog"], [data-full="true"]') === null)
        setKiosk(false)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [isKiosk, setKiosk])

  return { isKiosk, setKiosk }
}

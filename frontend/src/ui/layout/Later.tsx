import { startTransition, useEffect, useState, type ReactNode } from 'react'

/** Waits no longer than this for a quiet moment, in milliseconds. */
const patienceMs = 3000

interface LaterProps {
  /** Whether what it waits for has come. */
  isDue: boolean
  children: ReactNode
}

/** What stands below the first screen: drawn once the browser rests, so that it holds up nothing above it. */
export function Later({ isDue, children }: LaterProps) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    if (!isDue) return
    const show = () => startTransition(() => setShown(true))
    // Not every browser tells when it rests.
    if (typeof requestIdleCallback === 'undefined') {
      const timer = setTimeout(show)
      return () => clearTimeout(timer)
    }
    const asked = requestIdleCallback(show, { timeout: patienceMs })
    return () => cancelIdleCallback(asked)
  }, [isDue])
  return isShown ? children : <div data-ready="false" />
}

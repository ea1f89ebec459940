import { Skeleton } from '@mantine/core'
import { useEffect, useState } from 'react'
import classes from './Loading.module.css'

/** Longer than this is not usual: the viewer is told that nothing hangs. */
const slowAfterMs = 10_000

interface LoadingProps {
  height: number | string
  radius?: number
  testId?: string
}

/** Holds the place of what is being loaded, and says after a while that it still is. */
export function Loading({ height, radius = 2, testId }: LoadingProps) {
  return (
    <div className={classes.loading} style={{ height }} data-testid={testId}>
      <Skeleton height="100%" radius={radius} />
      <div className={classes.over}>
        <SlowNote />
      </div>
    </div>
  )
}

/** Stands beside a skeleton, and speaks up when that has been on screen for long. */
export function SlowNote() {
  const isSlow = useSlow()
  if (!isSlow) return null
  return (
    <p className={classes.slow} role="status" data-testid="still-loading">
      Still loading: the answer takes longer than {slowAfterMs / 1000} s.
    </p>
  )
}

/** Whether the component has been on screen for longer than loading usually takes. */
function useSlow(): boolean {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), slowAfterMs)
    return () => clearTimeout(timer)
  }, [])
  return isSlow
}

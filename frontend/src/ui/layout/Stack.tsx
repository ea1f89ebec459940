import type { ReactNode } from 'react'
import classes from './Stack.module.css'

/** What stands below each other on a page, at the distance that all panels keep. */
export function Stack({ children, testId }: { children: ReactNode; testId?: string }) {
  return (
    <div className={classes.stack} data-testid={testId}>
      {children}
    </div>
  )
}

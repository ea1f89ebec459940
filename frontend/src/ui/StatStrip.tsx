import type { ReactNode } from 'react'
import classes from './StatStrip.module.css'

/** Headline figures side by side on one surface; they wrap in whole cells. */
export function StatStrip({ children, label }: { children: ReactNode; label: string }) {
  return (
    <section className={classes.strip} aria-label={label}>
      {children}
    </section>
  )
}

import type { CSSProperties, ReactNode } from 'react'
import classes from './StatStrip.module.css'

interface StatStripProps {
  children: ReactNode
  label: string
  /** Cells in a row on a wide screen. */
  columns: number
}

/** Headline figures side by side on one surface; they wrap in whole cells. */
export function StatStrip({ children, label, columns }: StatStripProps) {
  return (
    <section className={classes.strip} aria-label={label} style={{ '--columns': columns } as CSSProperties}>
      {children}
    </section>
  )
}

import type { CSSProperties, ReactNode } from 'react'
import classes from './StatStrip.module.css'

interface StatStripProps {
  children: ReactNode
  label: string
  /** Cells in a row on a wide screen. */
  columns: number
  /** Stands above the figures, where they are of another time than the page. */
  caption?: string
}

/** Headline figures side by side on one surface; they wrap in whole cells. */
export function StatStrip({ children, label, columns, caption }: StatStripProps) {
  return (
    <section className={classes.strip} aria-label={label} style={{ '--columns': columns } as CSSProperties}>
      {caption !== undefined && <h2 className={classes.caption}>{caption}</h2>}
      {children}
    </section>
  )
}

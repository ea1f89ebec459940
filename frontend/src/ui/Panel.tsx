import type { ReactNode } from 'react'
import classes from './Panel.module.css'

interface PanelProps {
  title: ReactNode
  hint?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Let the body touch the edges, for tables and plots. */
  flush?: boolean
  testId?: string
}

/** A titled surface: the unit that pages are built from. */
export function Panel({ title, hint, actions, children, flush = false, testId }: PanelProps) {
  return (
    <section className={classes.panel} data-testid={testId}>
      <header className={classes.header}>
        <div className={classes.heading}>
          <h2 className={classes.title}>{title}</h2>
          {hint !== undefined && <div className={classes.hint}>{hint}</div>}
        </div>
        {actions !== undefined && <div className={classes.actions}>{actions}</div>}
      </header>
      <div className={flush ? classes.flush : classes.body}>{children}</div>
    </section>
  )
}

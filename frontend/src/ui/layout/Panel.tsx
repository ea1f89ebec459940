import { useState, type ReactNode } from 'react'
import { PanelActionsContext } from './panelActions'
import classes from './Panel.module.css'

interface PanelProps {
  title: ReactNode
  hint?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Let the body touch the edges, for tables and plots. */
  flush?: boolean
  testId?: string
  /** What draws the panel's chart: its type. */
  chart?: string
  /** Lay the panel over the whole window. */
  isFull?: boolean
}

/** A titled surface: the unit that pages are built from. */
export function Panel({ title, hint, actions, children, flush = false, testId, chart, isFull = false }: PanelProps) {
  const [slot, setSlot] = useState<HTMLElement | null>(null)
  return (
    <section className={classes.panel} data-testid={testId} data-chart={chart} data-full={isFull}>
      <header className={classes.header}>
        <div className={classes.heading}>
          <h2 className={classes.title}>{title}</h2>
          {hint !== undefined && <div className={classes.hint}>{hint}</div>}
        </div>
        <div className={classes.actions}>
          {actions}
          <div className={classes.slot} ref={setSlot} />
        </div>
      </header>
      <div className={flush ? classes.flush : classes.body}>
        <PanelActionsContext value={slot}>{children}</PanelActionsContext>
      </div>
    </section>
  )
}

import type { ReactNode } from 'react'
import { Prose } from '../text/Prose'
import classes from './EmptyState.module.css'

/** Nothing to show, and what to do about it. */
export function EmptyState({ title, next }: { title: string; next: ReactNode }) {
  return (
    <div className={classes.empty} role="status" data-testid="empty-state">
      <p className={classes.title}>{title}</p>
      <p className={classes.next}>{typeof next === 'string' ? <Prose text={next} /> : next}</p>
    </div>
  )
}

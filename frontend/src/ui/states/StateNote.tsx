import type { ReactNode } from 'react'
import type { Tone } from '../tags/ToneTag'
import classes from './StateNote.module.css'

/** A stretch of text with its tone as a rule at its side: a verdict, a refusal, a warning. */
export function StateNote({ tone, children, testId }: { tone: Tone; children: ReactNode; testId?: string }) {
  return (
    <div className={classes.note} data-tone={tone} data-testid={testId}>
      {children}
    </div>
  )
}

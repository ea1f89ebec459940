import { Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { terms, type TermName } from '../../lib/text/_generated/terms'
import classes from './Term.module.css'

/** A term of the field with its one-line explanation on hover and focus. */
export function Term({ name, children }: { name: TermName; children: ReactNode }) {
  return (
    <Tooltip label={terms[name]} events={{ hover: true, focus: true, touch: true }}>
      <span className={classes.term} tabIndex={0}>
        {children}
      </span>
    </Tooltip>
  )
}

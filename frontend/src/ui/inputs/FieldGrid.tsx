import type { FormEvent, ReactNode } from 'react'
import classes from './FieldGrid.module.css'

interface FieldGridProps {
  label: string
  children: ReactNode
  onSubmit: () => void
}

/** A form whose fields stand side by side as far as they fit. */
export function FieldGrid({ label, children, onSubmit }: FieldGridProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    onSubmit()
  }
  return (
    <form className={classes.form} aria-label={label} onSubmit={submit}>
      {children}
    </form>
  )
}

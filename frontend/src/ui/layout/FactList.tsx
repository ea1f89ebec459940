import type { ReactNode } from 'react'
import classes from './FactList.module.css'

/** Names with their values, one a line, values at the right. */
export function FactList({ facts }: { facts: [label: string, value: ReactNode][] }) {
  return (
    <dl className={classes.facts}>
      {facts.map(([label, value]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

import { Skeleton } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { formatCount } from '../../lib/units/units'
import classes from './Stat.module.css'

interface CountStatProps {
  label: ReactNode
  value: number | undefined
  of?: number | undefined
  note: string
  warn?: boolean
}

/** A counted headline figure, such as hosts: exact, so it carries a note in place of an interval. */
export function CountStat({ label, value, of, note, warn = false }: CountStatProps) {
  return (
    <div className={classes.stat}>
      <div className={classes.label}>{label}</div>
      {value === undefined ? (
        <>
          <Skeleton height={28} width={60} />
          <Skeleton height={12} width={100} mt={8} />
        </>
      ) : (
        <>
          <div className={classes.value}>
            {formatCount(value)} {of !== undefined && <span className={classes.unit}>of {formatCount(of)}</span>}
          </div>
          <div className={classes.note} data-warn={warn}>
            {warn && <IconAlertTriangle size={12} aria-hidden />} {note}
          </div>
        </>
      )}
    </div>
  )
}

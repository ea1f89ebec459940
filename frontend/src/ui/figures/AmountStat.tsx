import { Skeleton } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { formatCount } from '../../lib/units/units'
import classes from './Stat.module.css'

interface AmountStatProps {
  label: ReactNode
  /** The value with its unit; undefined while there is none yet. */
  value: ReactNode | undefined
  note: ReactNode
  warn?: boolean
  testId?: string
}

/** A headline figure that is computed from inputs and not measured: a value and a line on how it is meant. */
export function AmountStat({ label, value, note, warn = false, testId }: AmountStatProps) {
  return (
    <div className={classes.stat} data-testid={testId}>
      <div className={classes.label}>{label}</div>
      {value === undefined ? (
        <>
          <Skeleton height={28} width={90} />
          <Skeleton height={12} width={120} mt={8} />
        </>
      ) : (
        <>
          <div className={classes.value}>{value}</div>
          <div className={classes.note} data-warn={warn}>
            {warn && <IconAlertTriangle size={12} aria-hidden />} {note}
          </div>
        </>
      )}
    </div>
  )
}

interface CountStatProps extends Pick<AmountStatProps, 'label' | 'note' | 'warn'> {
  value: number | undefined
  of?: number | undefined
}

/** A counted headline figure, such as hosts: exact, so it carries a note in place of an interval. */
export function CountStat({ value, of, ...rest }: CountStatProps) {
  const whole = of !== undefined && <span className={classes.unit}>of {formatCount(of)}</span>
  return (
    <AmountStat
      {...rest}
      value={
        value === undefined ? undefined : (
          <>
            {formatCount(value)} {whole}
          </>
        )
      }
    />
  )
}

import { Tooltip } from '@mantine/core'
import { nothingText, type FigureStatus } from '../../lib/units/figure'
import { Prose } from '../text/Prose'
import classes from './Nothing.module.css'

interface NothingProps {
  status: Exclude<FigureStatus, 'ok'>
  reason: string | null
}

/** The three kinds of nothing, each drawn its own way; a zero is a value and is never drawn by this. */
export function Nothing({ status, reason }: NothingProps) {
  const text = nothingText[status]
  const label =
    reason ??
    {
      not_collected: 'Nothing was collected.',
      not_supported: 'This host does not support it.',
      not_enough_data: 'More data is needed.',
    }[status]
  return (
    <Tooltip label={<Prose text={status === 'not_supported' ? `Not supported: ${label}` : label} />}>
      <span className={classes[status]} data-nothing={status} aria-label={`${status.replaceAll('_', ' ')}: ${label}`}>
        {text}
      </span>
    </Tooltip>
  )
}

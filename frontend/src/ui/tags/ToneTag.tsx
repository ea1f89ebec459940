import { Tooltip } from '@mantine/core'
import {
  IconAlertOctagon,
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconInfoCircle,
  type Icon,
} from '@tabler/icons-react'
import { Prose } from '../text/Prose'
import classes from './ToneTag.module.css'

export type Tone = 'good' | 'info' | 'warning' | 'critical' | 'neutral'

const icons: Record<Tone, Icon> = {
  good: IconCircleCheck,
  info: IconInfoCircle,
  warning: IconAlertTriangle,
  critical: IconAlertOctagon,
  neutral: IconCircleDashed,
}

/** A state in a word with its icon; the meaning shows on hover. */
export function ToneTag({ tone, label, meaning }: { tone: Tone; label: string; meaning?: string }) {
  const Icon = icons[tone]
  const tag = (
    <span className={classes.tag} data-tone={tone}>
      <Icon size={14} aria-hidden />
      <span className={classes.label}>{label}</span>
    </span>
  )
  return meaning === undefined ? tag : <Tooltip label={<Prose text={meaning} />}>{tag}</Tooltip>
}

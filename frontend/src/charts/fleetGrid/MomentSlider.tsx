import { Button, Slider } from '@mantine/core'
import { useState } from 'react'
import { formatLocal, formatUtc } from '../../lib/units/time'
import classes from './MomentSlider.module.css'

interface MomentSliderProps {
  /** The window whose moments can be chosen, in Unix seconds. */
  start: number
  end: number
  /** Whether the window ends now: then its right end is no fixed moment. */
  endsNow: boolean
  /** Null: now. */
  at: number | null
  onMoment: (at: number | null) => void
}

const steps = 96

/** Which moment of the window tiles are of. */
export function MomentSlider({ start, end, endsNow, at, onMoment }: MomentSliderProps) {
  const [moved, setMoved] = useState<number | null>(null)
  const step = Math.max(60, Math.round((end - start) / steps / 60) * 60)
  const shown = Math.min(end, Math.max(start, moved ?? at ?? end))
  // Steps need not meet the end.
  const meansNow = (moment: number) => endsNow && moment > end - step / 2
  const isNow = moved === null ? at === null : meansNow(moved)
  const words = isNow ? 'now' : formatLocal(new Date((moved ?? at ?? end) * 1000))
  return (
    <div className={classes.moment}>
      <Slider
        className={classes.slider ?? ''}
        size={4}
        min={start}
        max={end}
        step={step}
        value={shown}
        label={null}
        thumbLabel="Moment of the tiles"
        thumbProps={{ 'aria-valuetext': words }}
        onChange={setMoved}
        onChangeEnd={(next) => {
          setMoved(null)
          onMoment(meansNow(next) ? null : next)
        }}
      />
      <span className={classes.words} title={isNow ? undefined : formatUtc(new Date(shown * 1000))}>
        {words}
      </span>
      <Button size="compact-xs" variant="default" disabled={at === null} onClick={() => onMoment(null)}>
        Now
      </Button>
    </div>
  )
}

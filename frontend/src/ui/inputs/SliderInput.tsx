import { ActionIcon, NumberInput, Slider, Tooltip } from '@mantine/core'
import { IconArrowBackUp } from '@tabler/icons-react'
import { useState } from 'react'
import { Prose } from '../text/Prose'
import classes from './SliderInput.module.css'

interface SliderInputProps {
  label: string
  unit: string
  value: number
  /** The ends of the slider; a typed value may lie beyond them, down to `floor` and up to `ceiling`. */
  low: number
  high: number
  step: number
  floor?: number
  ceiling?: number
  decimals?: number
  /** Where the value comes from and when it held, in one line per fact. */
  grounding: string[]
  changed?: boolean
  onReset?: () => void
  /** Called for every move of the slider. */
  onMove: (value: number) => void
  /** Called once the viewer let go, or typed a value. */
  onSettle: (value: number) => void
}

/** A quantity to try out: a slider over its range, the value as a number, its unit, and its source on hover. */
export function SliderInput(props: SliderInputProps) {
  const { label, unit, value, low, high, step, grounding, changed = false } = props
  const [typed, setTyped] = useState<number | string | null>(null)
  // The slider follows the pointer by itself: the page need not be drawn anew for every step.
  const [moved, setMoved] = useState<number | null>(null)
  const shown = moved ?? value
  const floor = props.floor ?? 0
  const ceiling = props.ceiling ?? Number.MAX_SAFE_INTEGER
  const settle = () => {
    if (typed !== null && typed !== '' && Number.isFinite(Number(typed)) && Number(typed) !== value) {
      props.onSettle(Math.min(ceiling, Math.max(floor, Number(typed))))
    }
    setTyped(null)
  }
  return (
    <div className={classes.input} data-changed={changed}>
      <div className={classes.head}>
        <Tooltip
          label={grounding.map((line) => (
            <div key={line}>
              <Prose text={line} />
            </div>
          ))}
          events={{ hover: true, focus: true, touch: true }}
          disabled={grounding.length === 0}
        >
          <span className={classes.label} tabIndex={0}>
            {label}
          </span>
        </Tooltip>
        {changed && props.onReset !== undefined && (
          <Tooltip label="Back to where this scenario started">
            <ActionIcon size="xs" aria-label={`Reset ${label}`} onClick={props.onReset}>
              <IconArrowBackUp size={13} />
            </ActionIcon>
          </Tooltip>
        )}
        <NumberInput
          className={classes.number ?? ''}
          size="xs"
          hideControls
          aria-label={`${label}, ${unit}`}
          decimalScale={props.decimals ?? 3}
          value={typed ?? shown}
          onChange={setTyped}
          onBlur={settle}
          onKeyDown={(event) => {
            if (event.key === 'Enter') settle()
            if (event.key === 'Escape') setTyped(null)
          }}
        />
        <span className={classes.unit}>{unit}</span>
      </div>
      <Slider
        size={3}
        min={Math.min(low, shown)}
        max={Math.max(high, shown)}
        step={step}
        value={shown}
        label={null}
        thumbLabel={`${label}, ${unit}`}
        onChange={(next) => {
          setMoved(next)
          props.onMove(next)
        }}
        onChangeEnd={(next) => {
          setMoved(null)
          props.onSettle(next)
        }}
      />
    </div>
  )
}

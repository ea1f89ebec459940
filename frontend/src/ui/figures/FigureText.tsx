import { Popover, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { figureMarks, nothingText, type FigureValue } from '../../lib/units/figure'
import { formatQuantity, threeDigits } from '../../lib/units/units'
import { Nothing } from '../states/Nothing'
import { ProvenanceDetails } from '../provenance/ProvenanceDetails'
import classes from './FigureText.module.css'

interface FigureTextProps {
  figure: FigureValue
  label: string
  /** Leave out the unit, where the column's header says it. */
  bare?: boolean
}

/** A figure inside a table or a sentence: its value or its kind of nothing; a click opens the evidence. */
export function FigureText({ figure, label, bare = false }: FigureTextProps) {
  const [opened, setOpened] = useState(false)
  const text = figure.status === 'ok' && figure.value !== null ? formatQuantity(figure.value, figure.unit) : null
  const status = figure.status === 'ok' ? 'not_collected' : figure.status
  const button = (
    <UnstyledButton
      className={classes.figure}
      {...figureMarks(figure)}
      onClick={(event) => {
        event.stopPropagation()
        setOpened(!opened)
      }}
      aria-label={`${label}: ${text ?? nothingText[status]}, show evidence`}
    >
      {text === null ? (
        <Nothing status={status} reason={figure.reason} />
      ) : bare ? (
        threeDigits(figure.value ?? 0)
      ) : (
        text
      )}
    </UnstyledButton>
  )
  // Tables hold hundreds of figures: the popover exists only while it is open.
  if (!opened) return button
  return (
    <Popover opened onChange={setOpened} trapFocus returnFocus>
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown>
        <ProvenanceDetails figure={figure} label={label} />
      </Popover.Dropdown>
    </Popover>
  )
}

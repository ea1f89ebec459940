import { Popover, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { shortMethodName, type FigureValue } from '../../lib/units/figure'
import { formatDuration } from '../../lib/units/time'
import { formatCount, formatRatio } from '../../lib/units/units'
import { GradeTag } from './GradeTag'
import { ProvenanceDetails } from './ProvenanceDetails'
import classes from './ProvenanceChip.module.css'

function windowText(figure: FigureValue): string | null {
  if (figure.window === null) return null
  return formatDuration((Date.parse(figure.window.end) - Date.parse(figure.window.start)) / 1000)
}

function chipParts(figure: FigureValue): string[] {
  const parts = [
    figure.method === null ? null : shortMethodName(figure.method),
    windowText(figure),
    figure.n_hosts === null ? null : `${formatCount(figure.n_hosts)} ${figure.n_hosts === 1 ? 'host' : 'hosts'}`,
    figure.coverage === null ? null : formatRatio(figure.coverage),
  ]
  return parts.filter((part) => part !== null)
}

interface ProvenanceChipProps {
  figure: FigureValue
  label: string
  /** The grade stands elsewhere. */
  gradeless?: boolean
}

/** Where a figure comes from, in one line; a click opens the whole evidence. */
export function ProvenanceChip({ figure, label, gradeless = false }: ProvenanceChipProps) {
  const [opened, setOpened] = useState(false)
  const grade = figure.grade ?? 'no grade'
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus={opened} returnFocus>
      <Popover.Target>
        <UnstyledButton
          className={classes.chip}
          onClick={() => setOpened(!opened)}
          aria-label={`Evidence for ${label}: ${[...chipParts(figure), grade].join(', ')}`}
          title="method · window · hosts · coverage"
        >
          {/* A space, so that what is read aloud has the words that are seen. */}
          <span className={classes.text}>{chipParts(figure).join(' · ')}</span>{' '}
          {!gradeless && figure.status === 'ok' && <GradeTag grade={figure.grade} />}
        </UnstyledButton>
      </Popover.Target>
      <Popover.Dropdown>
        <ProvenanceDetails figure={figure} label={label} />
      </Popover.Dropdown>
    </Popover>
  )
}

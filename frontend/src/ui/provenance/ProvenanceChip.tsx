import { Popover, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { shortMethodName, type FigureValue } from '../../lib/units/figure'
import { formatDuration } from '../../lib/units/time'
import { formatCount, formatRatio } from '../../lib/units/units'
import { GradeTag } from './GradeTag'
import { ProvenanceDetails } from './ProvenanceDetails'
import classes from './ProvenanceChip.module.css'

/** The window, and how much of it has data: 8 d of which two were seen are no 8 d. */
function windowText({ window, coverage }: FigureValue): string | null {
  const covered = coverage === null ? null : formatRatio(coverage)
  if (window === null) return covered
  const asked = formatDuration((Date.parse(window.end) - Date.parse(window.start)) / 1000)
  return covered === null ? asked : `${covered} of ${asked}`
}

function chipParts(figure: FigureValue): string[] {
  const parts = [
    figure.method === null ? null : shortMethodName(figure.method),
    windowText(figure),
    figure.n_hosts === null ? null : `${formatCount(figure.n_hosts)} ${figure.n_hosts === 1 ? 'host' : 'hosts'}`,
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
          title="method · coverage of the window · hosts"
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

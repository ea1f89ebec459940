import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import { figureMarks, type FigureValue } from '../../lib/units/figure'
import { formatQuantity, splitQuantity } from '../../lib/units/units'
import { GradeTag } from '../provenance/GradeTag'
import { ProvenanceChip } from '../provenance/ProvenanceChip'
import { Nothing } from '../states/Nothing'
import classes from './Stat.module.css'

function intervalText(figure: FigureValue): string | null {
  if (figure.interval === null || figure.status !== 'ok') return null
  const lo = formatQuantity(figure.interval.lo, figure.unit)
  const hi = formatQuantity(figure.interval.hi, figure.unit)
  return lo === hi ? null : `${lo} – ${hi}`
}

interface StatProps {
  label: ReactNode
  /** The label as plain text, for screen readers. */
  name: string
  figure: FigureValue | undefined
  /** A colour swatch before the label, for heat classes and tiers. */
  swatch?: string
}

/** One headline figure: label, value with unit, interval, and its provenance chip. */
export function Stat({ label, name, figure, swatch }: StatProps) {
  return (
    <div className={classes.stat} {...(figure === undefined ? {} : figureMarks(figure))}>
      <div className={classes.label}>
        {swatch !== undefined && <span className={classes.swatch} style={{ background: swatch }} />}
        {label}
        {figure?.status === 'ok' && (
          <span className={classes.grade}>
            <GradeTag grade={figure.grade} />
          </span>
        )}
      </div>
      {figure === undefined ? (
        <>
          <Skeleton height={28} width={90} />
          <div className={classes.interval} />
          <Skeleton height={12} width={120} my={4} />
        </>
      ) : (
        <>
          <div className={classes.value}>{valueOf(figure)}</div>
          <div className={classes.interval}>{intervalText(figure) ?? '\u00a0'}</div>
          <ProvenanceChip figure={figure} label={name} gradeless />
        </>
      )}
    </div>
  )
}

function valueOf(figure: FigureValue): ReactNode {
  if (figure.status !== 'ok' || figure.value === null) {
    return <Nothing status={figure.status === 'ok' ? 'not_collected' : figure.status} reason={figure.reason} />
  }
  const { number, unit } = splitQuantity(figure.value, figure.unit)
  return (
    <>
      {number} <span className={classes.unit}>{unit}</span>
    </>
  )
}

import { isValidElement, type ReactNode } from 'react'
import type { Cell } from '../../lib/export/csv'
import type { FigureValue } from '../../lib/units/figure'
import { verdictText } from '../../lib/text/verdicts'
import { formatUtc } from '../../lib/units/time'
import { FigureText } from '../figures/FigureText'
import { GradeTag } from '../provenance/GradeTag'
import { Nothing } from '../states/Nothing'
import { ProvenanceChip } from '../provenance/ProvenanceChip'
import { Prose } from '../text/Prose'
import { SettingValue } from '../text/SettingValue'
import { SeverityTag } from '../tags/SeverityTag'
import { TierTags } from '../tags/TierTags'
import { Timestamp } from '../text/Timestamp'
import { ToneTag } from '../tags/ToneTag'
import { VerdictTag } from '../tags/VerdictTag'
import { TrustTag } from '../provenance/TrustTag'

/** An amount in its unit, unrounded; null where it is absent. */
export interface Amount {
  amount: number | null
  unit: string
}

/** What a cell of a list hands out. */
export type CellValue = Cell | Date | Amount | FigureValue

type Props = Record<string, unknown>

/** What the components that show a value hold. Components that are not listed are looked into. */
const shown = new Map<unknown, (props: Props) => unknown>([
  [FigureText, (props) => props['figure']],
  [Timestamp, (props) => (typeof props['at'] === 'string' ? new Date(props['at']) : null)],
  [ToneTag, (props) => props['label']],
  [VerdictTag, (props) => verdictText(props['verdict'] as string).label],
  [SettingValue, (props) => props['value']],
  [SeverityTag, (props) => props['severity']],
  [GradeTag, (props) => props['grade']],
  [TrustTag, (props) => props['trust']],
  [TierTags, (props) => (props['tiers'] as string[]).join(', ')],
  [Prose, (props) => props['text']],
  [Nothing, () => null],
  [ProvenanceChip, (props) => (props['figure'] as FigureValue).method],
])

/** The value that a drawn cell shows; null where it shows none, or none that can be told. */
export function cellValue(node: ReactNode): CellValue {
  if (typeof node === 'string') return node === '' ? null : node
  if (typeof node === 'number') return node
  if (Array.isArray(node)) return joined(node as ReactNode[])
  if (!isValidElement<Props>(node)) return null
  if (node.type === 'br') return ' '
  const read = shown.get(node.type)
  if (read !== undefined) return (read(node.props) ?? null) as CellValue
  return cellValue(node.props['children'] as ReactNode)
}

function joined(nodes: ReactNode[]): CellValue {
  const parts = nodes.map((node) => ({ value: cellValue(node), apart: isValidElement(node) && node.type !== 'br' }))
  const told = parts.filter(({ value }) => value !== null)
  if (told.length <= 1) return told[0]?.value ?? null
  // Elements side by side are drawn apart, whatever stands between them.
  return told
    .map(({ value, apart }, place) => (apart && told[place - 1]?.apart ? ' ' : '') + textOf(value))
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** A value as text, for where several stand in one cell. */
function textOf(value: CellValue): string {
  if (value === null) return ''
  if (value instanceof Date) return formatUtc(value)
  if (typeof value !== 'object') return String(value)
  const amount = 'amount' in value ? value.amount : value.value
  return amount === null ? '' : `${amount} ${value.unit}`
}

/** The text of a header, in one line. */
export function headerText(header: ReactNode): string {
  return textOf(cellValue(header)).replaceAll(/\s+/g, ' ').trim()
}

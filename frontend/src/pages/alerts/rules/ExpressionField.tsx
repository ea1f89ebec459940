import { useRef } from 'react'
import type { RuleCheck, Vocabulary } from '../../../api/_generated/schema'
import { formatDuration } from '../../../lib/units/time'
import { formatQuantity } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import classes from './ExpressionField.module.css'
import { problemColumn } from './ruleEntry'
import { VocabularyHelp } from './VocabularyHelp'
import { TextAreaField } from '../../../ui/inputs/fields'

interface ExpressionFieldProps {
  value: string
  onChange: (value: string) => void
  scope: 'host' | 'service' | 'fleet'
  /** Undefined while nothing was checked yet. */
  check: RuleCheck | undefined
  /** A field that cannot be read, so that nothing could be asked. */
  problem: string | null
  vocabulary: Vocabulary | undefined
}

/** The condition, checked while it is written, with everything that it can name. */
export function ExpressionField({ value, onChange, scope, check, problem, vocabulary }: ExpressionFieldProps) {
  const area = useRef<HTMLTextAreaElement>(null)
  const insert = (word: string) => {
    const { selectionStart: start = value.length, selectionEnd: end = value.length } = area.current ?? {}
    onChange(`${value.slice(0, start)}${word}${value.slice(end)}`)
    area.current?.focus()
  }
  return (
    <Panel
      title="Condition"
      hint="checked as you type"
      testId="rule-expression"
      actions={check === undefined ? undefined : <CheckTag check={check} />}
    >
      <TextAreaField
        size="sm"
        ref={area}
        aria-label="Condition"
        resize="vertical"
        rows={2}
        maxLength={2000}
        spellCheck={false}
        classNames={{ input: classes.input ?? '' }}
        value={value}
        onText={onChange}
      />
      <div className={classes.findings} aria-live="polite" data-testid="rule-check">
        {problem !== null && <p className={classes.problem}>{problem}</p>}
        {problem === null && check !== undefined && <Findings check={check} text={value} />}
      </div>
      <VocabularyHelp vocabulary={vocabulary} scope={scope} onInsert={insert} />
    </Panel>
  )
}

function CheckTag({ check }: { check: RuleCheck }) {
  return check.ok ? (
    <ToneTag
      tone="neutral"
      label="valid"
      meaning="The condition can be read. The backtest tells whether it can fire here."
    />
  ) : (
    <ToneTag tone="critical" label="not valid yet" meaning="The error is shown under the condition." />
  )
}

function Findings({ check, text }: { check: RuleCheck; text: string }) {
  if (check.ok) {
    const threshold =
      check.threshold === null || check.unit === 'state'
        ? ''
        : `, compared with ${formatQuantity(check.threshold, check.unit ?? '')}`
    const lookback = check.lookback_seconds > 60 ? `, looks back ${formatDuration(check.lookback_seconds)}` : ''
    return (
      <p className={classes.understood}>
        Parsed as <code>{check.normal_form}</code>
        {threshold}
        {lookback}.
      </p>
    )
  }
  return (
    <ul className={classes.problems}>
      {check.problems.map((found) => (
        <li key={`${found.at} ${found.message}`} className={classes.problem}>
          <Pointer at={found.at} text={text} />
          <Prose text={found.message} /> <Prose text={found.next_step} />
        </li>
      ))}
    </ul>
  )
}

/** Where in the condition the problem is: the text before it, and the rest marked. */
function Pointer({ at, text }: { at: string; text: string }) {
  const column = problemColumn(at)
  if (column === null) return <span className={classes.where}>{at.replaceAll('_', ' ')}</span>
  const before = text.slice(Math.max(0, column - 21), column - 1)
  const rest = /^(\s*)(\S*)/.exec(text.slice(column - 1, column + 39))?.[0] ?? ''
  return (
    <code className={classes.pointer}>
      {column > 21 && '…'}
      {before}
      <mark>{rest === '' ? '␣' : rest}</mark>
    </code>
  )
}

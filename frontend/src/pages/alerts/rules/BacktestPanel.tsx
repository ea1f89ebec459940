import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Backtest, BacktestSubject, RuleRequest } from '../../../api/_generated/schema'
import { backtestQuery } from '../../../api/queries/alerts/rules'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { BacktestChart } from '../../../charts/backtest/BacktestChart'
import type { BacktestLine } from '../../../charts/backtest/figure'
import type { LoadState } from '../../../lib/loadState'
import { formatDuration, toRfc3339 } from '../../../lib/units/time'
import { formatCount, formatRatio } from '../../../lib/units/units'
import { resolveRange } from '../../../lib/url/timeRange'
import { StateNote } from '../../../ui/states/StateNote'
import { NotesList } from '../../../ui/text/NotesList'
import { useNow } from '../../shell/time/useNow'
import { useTimeRange } from '../../shell/time/useTimeRange'

interface BacktestPanelProps {
  /** Null while the rule cannot be used. */
  rule: RuleRequest | null
  /** The names of the values of a condition on a state; empty for numbers. */
  words: string[]
  /** How far the check of the rule is. */
  load: LoadState
}

/** Backtests move with the clock in steps of this length, so that they are not run again at each moment. */
const stepMs = 60_000

function lineOf(test: Backtest, subject: BacktestSubject, words: string[]): BacktestLine {
  return {
    name: subject.name,
    unit: test.unit,
    values: subject.values,
    threshold: subject.threshold,
    recovery: subject.recovery_threshold,
    spans: subject.spans,
    words: test.unit === 'state' ? words : [],
  }
}

function subjectLabel(subject: BacktestSubject): string {
  const simulated = subject.origin === 'simulated' ? ', simulated' : ''
  return `${subject.name} (fired ${subject.fired}×${simulated})`
}

/** What the rule would have done in the time range, at one subject: those that fired most come first. */
export function BacktestPanel({ rule, words, load }: BacktestPanelProps) {
  const { range, zoomTo } = useTimeRange()
  const now = useNow(stepMs)
  const { subject: chosen } = useSearch({ strict: false })
  const navigate = useNavigate()
  const setChosen = (id: string | null) =>
    void navigate({
      to: '.',
      search: (before) => ({ ...before, subject: id ?? undefined }),
      replace: true,
      resetScroll: false,
    })
  const moments = useMemo(() => {
    const { start, end } = resolveRange(range.from, range.to, Math.floor(now.getTime() / stepMs) * (stepMs / 1000))
    return { from: toRfc3339(start), to: toRfc3339(end) }
  }, [range.from, range.to, now])
  const query = useQuery(backtestQuery(rule, moments))
  const test = query.data
  const subject = test?.subjects.find(({ id }) => id === chosen) ?? test?.subjects[0]
  const line = useMemo(
    () => (test === undefined || subject === undefined ? undefined : lineOf(test, subject, words)),
    [test, subject, words],
  )
  const own = loadStateOf(query)
  return (
    <BacktestChart
      name="backtest"
      title="Backtest"
      label="What the rule would have done"
      hint={hintOf(test, rule === null)}
      load={own.problem === null ? load : own}
      axis={test?.axis}
      line={line}
      noData={(rule === null && test === undefined) || test?.subjects.length === 0}
      height={280}
      onTimeZoom={zoomTo}
      emptyText={
        rule === null
          ? { title: 'No backtest yet', next: 'It runs as soon as the condition is valid.' }
          : { title: 'No data to test on', next: test?.notes[0] ?? 'Widen the time range or the scope of the rule.' }
      }
      controls={
        subject === undefined ? undefined : (
          <Select
            aria-label="Subject of the backtest"
            w={250}
            searchable
            value={subject.id}
            onChange={setChosen}
            data={(test?.subjects ?? []).map((found) => ({ value: found.id, label: subjectLabel(found) }))}
          />
        )
      }
      wrap={(plot) => (
        <>
          {test !== undefined && test.n_subjects > 0 && test.coverage === 0 && (
            <StateNote tone="warning" testId="rule-never">
              <p>
                No subject has data for this condition in any minute of the time range: it cannot fire here. The host’s
                Tier moves tab says what its kernel counts.
              </p>
            </StateNote>
          )}
          {plot}
          <NotesList notes={test?.notes} />
        </>
      )}
    />
  )
}

function hintOf(test: Backtest | undefined, isOld: boolean): string {
  if (test === undefined) return 'what the rule would have done in the time range'
  return isOld ? `of the last valid condition: ${summary(test)}` : summary(test)
}

function summary(test: Backtest): string {
  const shown = test.subjects.length < test.n_subjects ? `, ${test.subjects.length} shown` : ''
  const firing = test.firing_seconds === 0 ? '' : `, firing for ${formatDuration(test.firing_seconds)} in total`
  return (
    `fired ${formatCount(test.fired)}×, resolved ${formatCount(test.resolved)}× at ${formatCount(test.n_firing_subjects)} ` +
    `of ${formatCount(test.n_subjects)} subjects${shown}${firing}; ${formatRatio(test.coverage)} of minutes with data`
  )
}

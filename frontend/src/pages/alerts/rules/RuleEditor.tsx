import { Button } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useState, type FormEvent } from 'react'
import { problemText } from '../../../api/problem'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { deleteRule, ruleCheckQuery, saveRule, vocabularyQuery } from '../../../api/queries/alerts/rules'
import { Panel } from '../../../ui/layout/Panel'
import { ConfirmDelete } from '../../../ui/inputs/ConfirmDelete'
import { Prose } from '../../../ui/text/Prose'
import { Stack } from '../../../ui/layout/Stack'
import { StateNote } from '../../../ui/states/StateNote'
import classes from '../AlertsPage.module.css'
import { BacktestPanel } from './BacktestPanel'
import { ExpressionField } from './ExpressionField'
import { RuleFields } from './RuleFields'
import { requestOfEntry, type RuleEntry } from './ruleEntry'
import { wordsOf } from '../stateWords'
import { LoginFirst } from '../../shell/access/LoginFirst'

interface RuleEditorProps {
  first: RuleEntry
  /** Undefined for a new rule. */
  ruleId: string | undefined
  /** Shipped rules can be tried, but only copies of them changed. */
  shipped: boolean
}

/** How long the editor waits for the next letter before it asks. */
const pauseMs = 400

/** A rule with its condition checked while it is written, and a backtest under it. */
export function RuleEditor({ first, ruleId, shipped }: RuleEditorProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [entry, setEntry] = useState(first)
  const [settled] = useDebouncedValue(entry, pauseMs)
  const request = useMemo(() => requestOfEntry(settled), [settled])
  // The name says nothing of what would be found: to write one must not ask again.
  const asked = typeof request === 'string' || request.expression === '' ? null : { ...request, name: 'rule' }
  const check = useQuery(ruleCheckQuery(asked))
  const vocabulary = useQuery(vocabularyQuery())
  const saving = useMutation(saveRule(queries))
  const deleting = useMutation(deleteRule(queries))
  const words = useMemo(
    () => wordsOf(check.data?.normal_form ?? '', vocabulary.data?.series ?? []),
    [check.data, vocabulary.data],
  )
  const set = (change: Partial<RuleEntry>) => setEntry((before) => ({ ...before, ...change }))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const rule = requestOfEntry(entry)
    if (typeof rule === 'string' || rule.name === '') return
    saving.mutate(
      { ruleId, rule },
      { onSuccess: (saved) => void navigate({ to: '/alerts/rules/$ruleId', params: { ruleId: saved.id } }) },
    )
  }
  const error = saving.error ?? deleting.error
  const checked = entry.expression.trim() === '' ? undefined : check.data
  return (
    <form onSubmit={submit} aria-label="Rule">
      <Stack>
        {shipped && (
          <StateNote tone="info" testId="rule-shipped">
            This rule ships with Tierscope. Try changes here and see what they would have done; to keep them, copy the
            rule and switch this one off.
          </StateNote>
        )}
        <ExpressionField
          value={entry.expression}
          onChange={(expression) => set({ expression })}
          scope={entry.kind}
          check={checked}
          problem={typeof request === 'string' ? request : null}
          vocabulary={vocabulary.data}
        />
        <BacktestPanel
          words={words}
          rule={asked !== null && check.data?.ok === true && !check.isPlaceholderData ? asked : null}
          load={loadStateOf(check)}
        />
        <Panel title="Timing and notification" testId="rule-fields">
          <RuleFields entry={entry} placeholders={vocabulary.data?.placeholders ?? []} onChange={set} />
        </Panel>
        <div className={`${classes.aside} ${classes.actions}`}>
          {!shipped && (
            <LoginFirst may="write:rules" to="save rules">
              <Button
                type="submit"
                loading={saving.isPending}
                disabled={entry.name.trim() === '' || checked?.ok !== true || typeof request === 'string'}
              >
                {ruleId === undefined ? 'Add rule' : 'Save rule'}
              </Button>
              {ruleId !== undefined && (
                <ConfirmDelete
                  what="rule"
                  consequence="Its alerts end without a resolution, and it fires no more. Their history stays."
                  pending={deleting.isPending}
                  problem={deleting.error === null ? undefined : problemText(deleting.error)}
                  onConfirm={() =>
                    deleting.mutate(ruleId, {
                      onSuccess: () => void navigate({ to: '/alerts', search: { tab: 'rules' } }),
                    })
                  }
                />
              )}
            </LoginFirst>
          )}
          {saving.isSuccess && <span role="status">Saved. It is evaluated from the next minute on.</span>}
          {error !== null && (
            <p className={classes.fault} role="alert">
              <Prose text={problemText(error)} />
            </p>
          )}
        </div>
      </Stack>
    </form>
  )
}

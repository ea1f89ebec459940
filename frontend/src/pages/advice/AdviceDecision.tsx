import { Button, Popover } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AdviceCard, DecisionRequest } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { decideAdvice } from '../../api/queries/advice'
import { Prose } from '../../ui/text/Prose'
import { LoginFirst } from '../shell/access/LoginFirst'
import classes from './AdvicePage.module.css'
import { TextField } from '../../ui/inputs/fields'

type Decision = DecisionRequest['decision']

const words: Record<Decision, string> = { adopted: 'Adopt', dismissed: 'Dismiss', open: 'Reopen' }
const hints: Record<Decision, string> = {
  adopted: 'Record that you follow it. Nothing changes on hosts.',
  dismissed: 'Hidden until the advice changes.',
  open: 'Put it back on the list.',
}

/** What the owner decides: adopt, dismiss with a reason, or reopen. */
export function AdviceDecision({ card }: { card: AdviceCard }) {
  if (card.status === 'gone') return null
  const choices: Decision[] = card.status === 'open' ? ['adopted', 'dismissed'] : ['open']
  return (
    <LoginFirst may="write:advice" to="decide">
      {choices.map((decision) => (
        <DecisionButton key={decision} adviceId={card.id} decision={decision} />
      ))}
    </LoginFirst>
  )
}

function DecisionButton({ adviceId, decision }: { adviceId: string; decision: Decision }) {
  const queries = useQueryClient()
  const [opened, setOpened] = useState(false)
  const [note, setNote] = useState('')
  const deciding = useMutation(decideAdvice(queries, adviceId))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    deciding.mutate({ decision, note }, { onSuccess: () => setOpened(false) })
  }
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus width={320}>
      <Popover.Target>
        <Button variant="subtle" onClick={() => setOpened(!opened)}>
          {words[decision]}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <form className={classes.body} onSubmit={submit} aria-label={`${words[decision]} this advice`}>
          <p className={classes.hosts}>{hints[decision]}</p>
          <TextField label="Reason (optional)" maxLength={500} value={note} onText={setNote} />
          <Button type="submit" loading={deciding.isPending}>
            {words[decision]}
          </Button>
          {deciding.error !== null && (
            <p className={classes.fault} role="alert">
              <Prose text={problemText(deciding.error)} />
            </p>
          )}
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}

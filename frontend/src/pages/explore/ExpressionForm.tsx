import { ActionIcon, Autocomplete, Button } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { metricNamesQuery } from '../../api/queries/promql'
import classes from './ExplorePage.module.css'

interface ExpressionFormProps {
  /** What is drawn; empty for a new chart. */
  expression: string
  onExpression: (expression: string) => void
  onRemove?: () => void
}

/** Asks for an expression: names of metrics are offered while it is one. */
export function ExpressionForm({ expression, onExpression, onRemove }: ExpressionFormProps) {
  const [text, setText] = useState(expression)
  const names = useQuery(metricNamesQuery())
  const asked = text.trim()
  const isNew = onRemove === undefined
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        if (asked === '') return
        onExpression(asked)
        if (isNew) setText('')
      }}
    >
      <Autocomplete
        className={classes.expression}
        aria-label={isNew ? 'PromQL expression of a new chart' : `PromQL expression in place of ${expression}`}
        placeholder="PromQL: a metric's name, or an expression of metrics"
        data={names.data?.data ?? []}
        limit={20}
        value={text}
        onChange={setText}
        spellCheck={false}
      />
      <Button type="submit" variant="default" disabled={asked === ''}>
        {isNew ? 'Add chart' : 'Draw'}
      </Button>
      {onRemove !== undefined && (
        <ActionIcon aria-label={`Remove ${expression}`} onClick={onRemove}>
          <IconTrash size={16} aria-hidden />
        </ActionIcon>
      )}
    </form>
  )
}

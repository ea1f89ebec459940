import { Button, NumberInput, Select } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { problemText } from '../../api/problem'
import { addSlowdownPoint } from '../../api/queries/ratio'
import { Prose } from '../../ui/text/Prose'
import { blank, requestOf } from './pointEntry'
import classes from './RatioView.module.css'
import { TextField } from '../../ui/inputs/fields'

/** Adds a measurement of the slowdown. */
export function PointForm({ serviceId }: { serviceId: string }) {
  const queries = useQueryClient()
  const [entry, setEntry] = useState(blank)
  const adding = useMutation(addSlowdownPoint(queries, serviceId))
  const request = requestOf(entry)
  const isPrediction = entry.source === 'prediction'
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (request !== null) adding.mutate(request, { onSuccess: () => setEntry(blank) })
  }
  return (
    <form className={classes.form} onSubmit={submit} aria-label="Add a measurement">
      <Select
        label="Measured by"
        value={entry.source}
        onChange={(value) => setEntry({ ...entry, source: value === 'prediction' ? 'prediction' : 'ab_test' })}
        data={[
          { value: 'ab_test', label: 'A/B test' },
          { value: 'prediction', label: 'prediction, all on slow memory' },
        ]}
      />
      <NumberInput
        label="Accesses on slow memory"
        suffix=" %"
        min={0}
        max={100}
        disabled={isPrediction}
        value={isPrediction ? 100 : entry.share}
        onChange={(share) => setEntry({ ...entry, share })}
      />
      <NumberInput
        label="Loss of throughput"
        suffix=" %"
        max={99}
        value={entry.loss}
        onChange={(loss) => setEntry({ ...entry, loss })}
      />
      <NumberInput
        label={isPrediction ? 'Standard error (optional)' : 'Its standard error'}
        suffix=" %"
        min={0}
        max={50}
        value={entry.error}
        onChange={(error) => setEntry({ ...entry, error })}
      />
      <TextField label="Note" maxLength={500} value={entry.note} onText={(note) => setEntry({ ...entry, note })} />
      <Button type="submit" disabled={request === null} loading={adding.isPending}>
        Add measurement
      </Button>
      {adding.error !== null && (
        <p className={classes.fault} role="alert">
          <Prose text={problemText(adding.error)} />
        </p>
      )}
    </form>
  )
}

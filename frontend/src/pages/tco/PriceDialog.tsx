import { Button, Checkbox, Modal, NumberInput, Radio, Select } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Price } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { addPrice, confirmPrice, pricesQuery } from '../../api/queries/tco'
import type { JsonObject } from '../../lib/tco/scenarioSpec'
import { Prose } from '../../ui/text/Prose'
import { ProblemState } from '../../ui/states/ProblemState'
import { blankPrice, priceItems, requestOf, type PriceEntry, type PriceItem } from './priceEntry'
import { PriceChoices } from './PriceChoices'
import { priceDocument } from './tcoInputs'
import classes from './PriceDialog.module.css'
import { TextField } from '../../ui/inputs/fields'

interface PriceDialogProps {
  opened: boolean
  onClose: () => void
  currency: string
  /** Take a price into the scenario on screen. */
  onTake: (item: PriceItem, price: JsonObject) => void
}

const ownPrice = 'own'

/** The price book: published prices and those of this installation, with source and date; somebody stands for each. */
export function PriceDialog({ opened, onClose, currency, onTake }: PriceDialogProps) {
  const queries = useQueryClient()
  const [item, setItem] = useState<PriceItem>('dram')
  const [chosen, setChosen] = useState<string | null>(null)
  const [entry, setEntry] = useState<PriceEntry>(blankPrice)
  const [keep, setKeep] = useState(false)
  const book = useQuery({ ...pricesQuery(), enabled: opened })
  const adding = useMutation(addPrice(queries))
  const confirming = useMutation(confirmPrice(queries))
  const load = loadStateOf(book)
  const prices = (book.data?.items ?? []).filter((price) => price.item === item)
  const request = requestOf(entry, item, currency)
  const picked = prices.find(({ id }) => id === chosen)
  const failed = adding.error ?? confirming.error
  const take = (price: Pick<Price, 'value' | 'low' | 'high' | 'source' | 'date'>) => {
    onTake(item, priceDocument(price))
    onClose()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    if (chosen === ownPrice && request !== null) {
      const price = { ...request, low: request.low ?? request.value, high: request.high ?? request.value }
      if (keep) adding.mutate(request, { onSuccess: () => take(price) })
      else take(price)
    } else if (picked !== undefined) {
      if (keep) confirming.mutate(picked.id, { onSuccess: () => take(picked) })
      else take(picked)
    }
  }
  const ready = chosen === ownPrice ? request !== null : picked?.currency === currency
  return (
    <Modal opened={opened} onClose={onClose} title="Price book" size={720}>
      <form onSubmit={submit} className={classes.form} aria-label="Price book">
        <Select
          label="Price of"
          value={item}
          onChange={(value) => {
            setItem(priceItems.find((known) => known.value === value)?.value ?? item)
            setChosen(null)
          }}
          data={[...priceItems]}
        />
        {load.problem !== null && book.data === undefined ? (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        ) : (
          <Radio.Group aria-label="Prices" value={chosen} onChange={setChosen} className={classes.prices ?? ''}>
            <PriceChoices prices={prices} currency={currency} />
            <Radio value={ownPrice} label="Your own price, for example from a contract" />
          </Radio.Group>
        )}
        {chosen === ownPrice && <OwnPrice entry={entry} onChange={setEntry} unit={unitOf(item, currency)} />}
        <Checkbox
          checked={keep}
          onChange={(event) => setKeep(event.currentTarget.checked)}
          label="Confirm it in the price book too: scenarios that state no price take it (needs an operator’s login)"
        />
        {failed !== null && (
          <p role="alert" className={classes.fault}>
            <Prose text={problemText(failed)} />
          </p>
        )}
        <div className={classes.actions}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={!ready} loading={adding.isPending || confirming.isPending}>
            Confirm this price
          </Button>
        </div>
      </form>
    </Modal>
  )
}

function unitOf(item: PriceItem, currency: string): string {
  return `${currency} ${priceItems.find(({ value }) => value === item)?.unit ?? ''}`
}

function OwnPrice(props: { entry: PriceEntry; onChange: (entry: PriceEntry) => void; unit: string }) {
  const { entry, onChange, unit } = props
  const number = (key: 'value' | 'low' | 'high', label: string) => (
    <NumberInput
      label={`${label}, ${unit}`}
      min={0}
      hideControls
      value={entry[key]}
      onChange={(value) => onChange({ ...entry, [key]: value })}
    />
  )
  return (
    <div className={classes.own}>
      {number('value', 'Price')}
      {number('low', 'Lowest')}
      {number('high', 'Highest')}
      <TextField
        label="Source"
        placeholder="such as a contract or an invoice"
        maxLength={200}
        value={entry.source}
        onText={(source) => onChange({ ...entry, source })}
      />
      <TextField label="Price date" type="date" value={entry.date} onText={(date) => onChange({ ...entry, date })} />
    </div>
  )
}

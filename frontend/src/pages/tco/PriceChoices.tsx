import { Radio } from '@mantine/core'
import type { Price } from '../../api/_generated/schema'
import { formatMoney } from '../../lib/tco/money'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './PriceDialog.module.css'

/** Prices to choose from: value with its range, its source, its date, and who confirmed it. */
export function PriceChoices({ prices, currency }: { prices: Price[]; currency: string }) {
  return prices.map((price) => (
    <Radio
      key={price.id}
      value={price.id}
      disabled={price.currency !== currency}
      label={
        <span className={classes.price}>
          <span>
            <strong>{formatMoney(price.value, price.currency)}</strong> {price.unit}
            {price.low !== price.high && (
              <>
                {' '}
                ({formatMoney(price.low, price.currency)} – {formatMoney(price.high, price.currency)})
              </>
            )}{' '}
            · {price.label}
            {price.in_force && <ToneTag tone="good" label="current" meaning={confirmedWords(price)} />}
          </span>
          <span className={classes.source}>
            as of {price.date} · {price.source}
            {price.preset && ' · published'}
            {price.currency !== currency && ` · in ${price.currency}: currencies are not converted`}
          </span>
        </span>
      }
    />
  ))
}

function confirmedWords(price: Price): string {
  return price.confirmed_by === null
    ? 'Scenarios that state no price take it.'
    : `Confirmed by ${price.confirmed_by}; scenarios that state no price take it.`
}

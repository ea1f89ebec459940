/** Amounts of money in the scenario's own currency: no currency is converted into another. */

/** An amount as people read it: `$3,672`, `$8.01`, `$1.23 M`; cents only below 100. */
export function formatMoney(amount: number, currency: string): string {
  const magnitude = Math.abs(amount)
  const decimals = magnitude >= 99.5 || magnitude === 0 ? 0 : magnitude < 0.995 ? 3 : 2
  const [scaled, suffix] =
    magnitude >= 999_500_000 ? [amount / 1e9, ' bn'] : magnitude >= 999_500 ? [amount / 1e6, ' M'] : [amount, '']
  return `${currencyText(scaled, currency, suffix === '' ? decimals : 2)}${suffix}`
}

/** An amount with its sign, for differences: `+$206`, `−$1,234`. */
export function formatMoneyChange(amount: number, currency: string): string {
  return amount > 0 ? `+${formatMoney(amount, currency)}` : formatMoney(amount, currency)
}

/** Money with its range: `$520 ($208 to $884)`. */
export function formatMoneyRange(money: {
  value: number
  interval: { lo: number; hi: number }
  currency: string
}): string {
  const [value, lo, hi] = [money.value, money.interval.lo, money.interval.hi].map((one) =>
    formatMoney(one, money.currency),
  )
  return `${value} (${lo} to ${hi})`
}

const formats = new Map<string, Intl.NumberFormat>()

/** A format is dear to make and is asked for hundreds of times while a slider moves. */
function formatFor(currency: string, decimals: number): Intl.NumberFormat {
  const key = `${currency} ${decimals}`
  const known = formats.get(key)
  if (known !== undefined) return known
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
  const made =
    currency === ''
      ? new Intl.NumberFormat('en-US', digits)
      : new Intl.NumberFormat('en-US', { style: 'currency', currency, currencyDisplay: 'narrowSymbol', ...digits })
  formats.set(key, made)
  return made
}

function currencyText(amount: number, currency: string, decimals: number): string {
  // What is no ISO code follows the number as it is: the price book may hold any name.
  const text = /^[A-Z]{3}$/.test(currency)
    ? formatFor(currency, decimals).format(amount)
    : `${formatFor('', decimals).format(amount)} ${currency}`
  return text.replace('-', '−')
}

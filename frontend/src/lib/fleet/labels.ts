/** Labels as one text: `rack=r1, sku=cxl-2to1`; `none` where there is none. */
export function labelsText(labels: Record<string, string>): string {
  return (
    Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ') || 'none'
  )
}

/** The labels of a text with one `key=value` a line or between commas; a text says what is wrong with it. */
export function readLabels(typed: string): Record<string, string> | string {
  const found: Record<string, string> = {}
  for (const part of typed.split(/[\n,]/)) {
    const text = part.trim()
    if (text === '') continue
    const cut = text.indexOf('=')
    if (cut < 1) return `“${text.slice(0, 40)}” is not a label. Write key=value.`
    found[text.slice(0, cut).trim()] = text.slice(cut + 1).trim()
  }
  return found
}

/** A piece of a text: plain, or `code` between backticks. */
export interface ProsePart {
  text: string
  code: boolean
}

/** The text with its percentages as figures have them: `14.2 %`. */
export function spacedPercentages(text: string): string {
  return text.replaceAll(/(\d)%/g, '$1 %')
}

function plain(text: string): ProsePart {
  return { text: spacedPercentages(text), code: false }
}

/** A text of the service cut at its backticks; an unpaired one stays as it is. */
export function proseParts(text: string): ProsePart[] {
  const parts: ProsePart[] = []
  let rest = text
  for (let match = /`([^`]+)`/.exec(rest); match !== null; match = /`([^`]+)`/.exec(rest)) {
    if (match.index > 0) parts.push(plain(rest.slice(0, match.index)))
    parts.push({ text: match[1] ?? '', code: true })
    rest = rest.slice(match.index + match[0].length)
  }
  if (rest !== '') parts.push(plain(rest))
  return parts
}

/** The text with a capital first letter, unless it begins with a name such as `vm.swappiness` that has none. */
export function sentenceCase(text: string): string {
  return /^[a-z]+(-[a-z]+)*[\s,:;]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text
}

/**
 * A text as it must be handed to Plotly, whose labels read a subset of HTML. Names come from hosts and are hostile
 * text: without this a service called `<a href=…>` would draw a link.
 */
export function plotText(text: string): string {
  return (
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      // `%{…}` would be read as a hover template variable.
      .replaceAll('%{', '%&#123;')
  )
}

/** A text shortened in the middle, so that both the beginning and the distinguishing end stay readable. */
export function middleCut(text: string, maximum: number): string {
  if (text.length <= maximum) return text
  const head = Math.ceil((maximum - 1) / 2)
  const tail = maximum - 1 - head
  return `${text.slice(0, head)}…${text.slice(text.length - tail)}`
}

import { proseParts, sentenceCase } from '../../lib/text/prose'

/** A text of the service: a sentence with its code set as code. It is never read as markup. */
export function Prose({ text }: { text: string }) {
  return proseParts(sentenceCase(text)).map((part, index) =>
    part.code ? <code key={index}>{part.text}</code> : <span key={index}>{part.text}</span>,
  )
}

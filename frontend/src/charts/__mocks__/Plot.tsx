/** A plot by its label alone: jsdom does not draw. */
export function Plot({ label }: { label: string }) {
  return <div role="img" aria-label={label} />
}

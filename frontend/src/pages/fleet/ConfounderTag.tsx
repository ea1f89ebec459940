import { ToneTag } from '../../ui/tags/ToneTag'

/** What else than memory may make peer hosts differ; nothing where nothing is known to. */
export function ConfounderTag({ warnings }: { warnings: string[] }) {
  if (warnings.length === 0) return null
  return <ToneTag tone="warning" label="network differs" meaning={warnings.join(' ')} />
}

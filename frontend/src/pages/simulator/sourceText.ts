import type { Sweep } from '../../api/_generated/schema'

/** What a sweep replays, in words. */
export function sourceText(sweep: Pick<Sweep, 'source'>): string {
  const { source } = sweep
  switch (source.kind) {
    case 'service':
      return `sample of ${source.name}`
    case 'workload':
      return `synthetic: ${source.name}`
    case 'upload':
      return `upload: ${source.name}`
  }
}

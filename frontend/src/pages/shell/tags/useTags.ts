import { useNavigate, useSearch } from '@tanstack/react-router'
import { readTags, writeTags } from '../../../lib/url/tagsUrl'

/** The tags that narrow all pages, from the URL, and the way to change them. */
export function useTags() {
  const { tags } = useSearch({ from: '__root__' })
  const navigate = useNavigate()
  const setTags = (next: string[]) =>
    void navigate({ to: '.', search: (before) => ({ ...before, tags: writeTags(next) }), resetScroll: false })
  return { tags: readTags(tags), setTags }
}

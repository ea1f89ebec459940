/** At most so many tags narrow the pages. */
const mostTags = 16

/** Tags, as `key=value`, from their URL form. */
export function readTags(value: string | undefined): string[] {
  const tags = (value ?? '').split(',').filter((tag) => /^[^=]+=./.test(tag))
  return [...new Set(tags)].slice(0, mostTags)
}

/** The URL form of tags; undefined where there are none. */
export function writeTags(tags: readonly string[]): string | undefined {
  return tags.length === 0 ? undefined : tags.join(',')
}

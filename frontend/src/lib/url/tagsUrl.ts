/** At most so many tags narrow the pages. */
const mostTags = 16

/** Tags, as `key=value`, from their URL form. */
export function readTags(value: string | undefined): string[] {
  const tags = (value ?? '')
    .split(',')
    .filter((tag) => /^[^=]+=./.test(tag))
    .map((tag) => tag.replace(/%2C|%25/g, decodeURIComponent))
  return [...new Set(tags)].slice(0, mostTags)
}

/** The URL form of tags, with commas between them, and those in a value apart; undefined where there are none. */
export function writeTags(tags: readonly string[]): string | undefined {
  return tags.length === 0 ? undefined : tags.map((tag) => tag.replace(/[%,]/g, encodeURIComponent)).join(',')
}

/** One page of a list as the API answers it. */
export interface ListPage<T> {
  items: T[]
  next_cursor: string | null
}

/** A list read to its end, or to `maximumPages`; `truncated` tells which. */
export interface WholeList<T> {
  items: T[]
  truncated: boolean
}

/** Follow the cursors of a list. At most `maximumPages` of 1,000 items are read. */
export async function readAll<T>(
  readPage: (cursor: string | undefined) => Promise<ListPage<T>>,
  maximumPages = 10,
): Promise<WholeList<T>> {
  const items: T[] = []
  let cursor: string | undefined
  for (let page = 0; page < maximumPages; page += 1) {
    const answer = await readPage(cursor)
    items.push(...answer.items)
    if (answer.next_cursor === null) return { items, truncated: false }
    cursor = answer.next_cursor
  }
  return { items, truncated: true }
}

/** A text as one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** A text as a string of TOML or YAML: both read JSON's double-quoted strings. */
export function quoted(text: string): string {
  return JSON.stringify(text)
}

/** What owns a pod, such as `Deployment cart`; says where it is guessed from the pod's name. */
export function podOwnerText(kind: string | null, name: string, source: 'api' | 'name' | null): string {
  const named = kind === null ? name : `${kind} ${name}`
  return source === 'api' ? named : `${named} (by name)`
}

/** What a host says of its pods as a whole, or null. */
export function podsNote(state: { left_out: number; unavailable: string | null }): string | null {
  const said = []
  if (state.unavailable !== null) said.push(`Not all is known: ${state.unavailable}.`)
  if (state.left_out > 0) said.push(`${state.left_out} more pods are not listed.`)
  return said.length === 0 ? null : said.join(' ')
}

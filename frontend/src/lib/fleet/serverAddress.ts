/** An address that agents send to. */
export interface ServerAddress {
  /** Without a slash at its end: `https://tierscope.example`. */
  base: string
  /** Whether only the machine itself can reach it. */
  isLoopback: boolean
  /** Plain http to another machine: agents refuse it unless their settings allow it. */
  needsAllowHttp: boolean
}

/** Whether a host name or address is of the machine itself; IPv6 with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name)
}

/** The address in a text, as agents read it: `https://HOST[:PORT][/PATH]`; a text says what is wrong with it. */
export function readServer(typed: string): ServerAddress | string {
  const base = typed.trim().replace(/\/+$/, '')
  const authority = /^https?:\/\/([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?$/.exec(base)
  const host = authority?.[1]
  if (host === undefined) return 'Write https://HOST, with a port if it is not 443.'
  const isLoopback = isLoopbackHost(host)
  return { base, isLoopback, needsAllowHttp: base.startsWith('http://') && !isLoopback }
}

/**
 * The address to offer agents: the one that the service is set to, else the one under which this page is open.
 * `pageOrigin` is the page's, such as `https://tierscope.example:8480`.
 */
export function offeredServer(pageOrigin: string, publicUrl: string | null | undefined): string {
  return (publicUrl ?? pageOrigin).replace(/\/+$/, '')
}

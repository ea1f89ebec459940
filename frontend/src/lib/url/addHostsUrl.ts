import { oneOf, readTimeSearch, text, type RawSearch, type TimeSearch } from './urlState'

/** The ways to add hosts, in the order of their tabs. */
export const installWays = ['systemd', 'deb', 'kubernetes', 'ansible', 'prometheus'] as const
export type InstallWay = (typeof installWays)[number]

/** Parameters of the page that adds hosts: the way, and the labels (`key=value, …`) of the new hosts to list. */
export interface AddHostsSearch extends TimeSearch {
  how?: InstallWay | undefined
  labels?: string | undefined
}

/** That page's part of a URL. The address of the service is not in it: a link must not send tokens elsewhere. */
export function readAddHostsSearch(raw: RawSearch): AddHostsSearch {
  return { ...readTimeSearch(raw), how: oneOf(raw, 'how', installWays), labels: text(raw, 'labels') }
}
